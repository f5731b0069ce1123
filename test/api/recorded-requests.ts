import { v7 as uuidv7 } from 'uuid';
import { chainRecords, emptyChain, hierarchyPath, signHead } from '../../src/ledger/chain.ts';
import { NO_FINGERPRINTS } from '../../src/server/domain/fingerprint.ts';
import type { RequestRecord } from '../../src/server/domain/request-record.ts';
import { emptyUsage } from '../../src/server/domain/usage.ts';
import { openDatabase } from '../../src/server/store/database.ts';
import {
  ensureRequestsPartition,
  insertLedgerRecords,
  insertRequests,
  lockLedgerHeads,
} from '../../src/server/store/ingest.ts';
import type { Gateway } from '../harness.ts';

export type RecordedRequest = Partial<RequestRecord> & { created_at: string };

/**
 * Puts requests of any time and kind on record through the program's own write side, which proxied calls of
 * today could not make. They enter the ledger in the order given. Returns their ids.
 */
export async function recordRequests(
  gw: Gateway,
  tenantId: string,
  requests: readonly RecordedRequest[],
): Promise<string[]> {
  const records = requests.map((request) => completed(tenantId, request));
  const secret = gw.secrets.GATEWAY_LEDGER_SECRET;
  const database = openDatabase({
    url: gw.databaseUrl,
    name: 'test-records',
    connections: 1,
    onIdleError: () => {},
  });
  try {
    await database.asSystem(async (db) => {
      const months = new Set(records.map((record) => `${record.created_at.slice(0, 7)}-01`));
      for (const month of months) await ensureRequestsPartition(db, month);
      const [head] = await lockLedgerHeads(db, [tenantId], (id) => ({
        ...emptyChain(id),
        hmac_signature: signHead(emptyChain(id), secret),
      }));
      const drafts = records
        .filter((record) => record.in_ledger)
        .map((record) => ({
          id: record.id,
          kind: 'request' as const,
          request_id: record.id,
          provider: record.provider,
          model_id: record.model_id ?? '',
          tokens_input: record.tokens_input,
          tokens_output: record.tokens_output,
          cost_microdollars: record.cost_microdollars,
          hierarchy_path: hierarchyPath(record.team_slug, record.service_name),
          created_at: record.created_at,
        }));
      const chain = chainRecords(head!, drafts, secret);
      const places = new Map(chain.records.map((place) => [place.request_id, place]));
      const placed = records.map((record) => ({
        ...record,
        sequence_number: places.get(record.id)?.sequence_number ?? null,
        record_hash: places.get(record.id)?.record_hash ?? null,
      }));
      await insertRequests(db, JSON.stringify(placed));
      await insertLedgerRecords(db, chain.records, [
        { ...chain.head, hmac_signature: signHead(chain.head, secret) },
      ]);
    });
  } finally {
    await database.close();
  }
  return records.map((record) => record.id);
}

function completed(tenantId: string, request: RecordedRequest): RequestRecord {
  const usage = { ...emptyUsage(), input: request.tokens_input ?? 100, output: request.tokens_output ?? 50 };
  return {
    id: uuidv7({ msecs: Date.parse(request.created_at) }),
    tenant_id: tenantId,
    provider: 'prov_a',
    method: 'POST',
    endpoint: '/v1/chat/completions',
    model_requested: 'gpt-5',
    model_id: 'gpt-5',
    model_family: 'gpt-5',
    stream: false,
    status_code: 200,
    refusal: null,
    in_ledger: true,
    tokens_input: usage.input,
    tokens_output: usage.output,
    usage,
    usage_source: 'provider',
    cost_microdollars: 1_000,
    cost_status: 'priced',
    region: null,
    price_id: null,
    service_tier: null,
    anomalies: [],
    interrupted: false,
    latency_total_ms: 200,
    latency_first_byte_ms: 100,
    api_key_id: '00000000-0000-7000-8000-000000000001',
    environment: 'production',
    team_id: null,
    team_slug: null,
    service_name: null,
    agent: null,
    user_name: null,
    end_customer: null,
    input_tokens_approximate: 100,
    tags: {},
    headers: {},
    reservations: [],
    reserved_microdollars: 0,
    ...NO_FINGERPRINTS,
    ...request,
    created_at: new Date(request.created_at).toISOString(),
  };
}
