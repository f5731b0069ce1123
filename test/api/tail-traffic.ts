import type { Database } from '../../src/server/store/database.ts';
import { appendRequestsToTail } from '../../src/server/store/tail.ts';
import type { Gateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

export interface TailTraffic {
  /** Puts requests on record, as many as a test needs; nobody is told of them yet. */
  prepare(tenantId: string, count: number, fields?: Record<string, unknown>): Promise<string[]>;
  /** Puts them on the tail, as the ingest does. */
  append(tenantId: string, ids: readonly string[]): Promise<void>;
  record(tenantId: string, count: number, fields?: Record<string, unknown>): Promise<string[]>;
}

/** Traffic of any speed and kind, for which no provider has to answer. */
export function makeTailTraffic(gw: Gateway, database: Database): TailTraffic {
  const traffic: TailTraffic = {
    prepare: (tenantId, count, fields = {}) =>
      recordRequests(gw, tenantId, Array(count).fill({ created_at: new Date().toISOString(), ...fields })),
    append: (tenantId, ids) => {
      const requests = ids.map((id) => ({ tenant_id: tenantId, id }));
      return database.asSystem((db) => appendRequestsToTail(db, requests));
    },
    async record(tenantId, count, fields) {
      const ids = await traffic.prepare(tenantId, count, fields);
      await traffic.append(tenantId, ids);
      return ids;
    },
  };
  return traffic;
}
