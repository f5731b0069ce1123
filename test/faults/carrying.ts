import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { NO_FINGERPRINTS } from '../../src/server/domain/fingerprint.ts';
import type {
  AdmittedRequest,
  RequestOutcome,
  RequestRecord,
} from '../../src/server/domain/request-record.ts';
import { emptyUsage } from '../../src/server/domain/usage.ts';
import { Ingest } from '../../src/server/proxy/ingest.ts';
import { Journal } from '../../src/server/proxy/journal/journal.ts';
import { ModelWatch } from '../../src/server/proxy/model-watch.ts';
import { openDatabase } from '../../src/server/store/database.ts';
import type { SpentOfLease } from '../../src/server/store/leases.ts';
import type { Gateway } from '../harness.ts';
import { SILENT } from './disks.ts';

/** A call that was answered and cost a tenth of a cent, unless it says otherwise: what was let through, and what became of it. */
export function makeRecord(
  tenantId: string,
  overrides: Partial<RequestRecord> = {},
): [AdmittedRequest, RequestOutcome] {
  const admitted: AdmittedRequest = {
    id: uuidv7(),
    tenant_id: tenantId,
    created_at: new Date().toISOString(),
    provider: 'prov_a',
    method: 'POST',
    endpoint: 'chat.completions',
    model_requested: 'gpt-4o-mini',
    stream: false,
    api_key_id: randomUUID(),
    environment: 'production',
    team_id: null,
    team_slug: null,
    service_name: 'checkout',
    agent: 'crawler',
    user_name: 'ada',
    end_customer: 'initech',
    tags: { step: 'one' },
    headers: {},
    reservations: [],
    reserved_microdollars: 0,
    input_tokens_approximate: 100,
    ...NO_FINGERPRINTS,
  };
  const outcome: RequestOutcome = {
    model_id: 'gpt-4o-mini',
    model_family: 'gpt-4o-mini',
    status_code: 200,
    refusal: null,
    in_ledger: true,
    tokens_input: 100,
    tokens_output: 50,
    usage: { ...emptyUsage(), input: 100, output: 50 },
    usage_source: 'provider',
    cost_microdollars: 1_000,
    cost_status: 'priced',
    price_id: null,
    service_tier: null,
    region: null,
    anomalies: [],
    interrupted: false,
    latency_total_ms: 20,
    latency_first_byte_ms: 10,
  };
  for (const [name, value] of Object.entries(overrides))
    Object.assign(name in outcome ? outcome : admitted, { [name]: value });
  return [admitted, outcome];
}

export interface Carrying {
  journal: Journal;
  ingest: Ingest;
  /** What the leases were told. */
  spent: SpentOfLease[];
  directory: string;
  stop(): Promise<void>;
}

/** A journal and its way into a gateway's database, apart from the gateway's own. */
export function startCarrying(
  gateway: Gateway,
  options: {
    directory?: string;
    databaseUrl?: string;
    onSpent?: (spent: readonly SpentOfLease[]) => void;
  } = {},
): Carrying {
  const directory = options.directory ?? makeDirectory();
  const database = openDatabase({
    url: options.databaseUrl ?? gateway.databaseUrl,
    name: 'test-ingest',
    connections: 2,
    onIdleError: () => {},
  });
  const journal = new Journal({ directory, maxBytes: 64 * 1024 * 1024, log: SILENT });
  const spent: SpentOfLease[] = [];
  const ingest = new Ingest({
    database,
    journal,
    ledgerSecret: gateway.secrets.GATEWAY_LEDGER_SECRET,
    models: new ModelWatch(),
    nowMs: Date.now,
    log: SILENT,
    onCommitted: (_records, taken) => {
      spent.push(...taken);
      options.onSpent?.(taken);
    },
  });
  ingest.start();
  const stop = async () => {
    await ingest.stop();
    await journal.close();
    await database.close();
  };
  return { journal, ingest, spent, directory, stop };
}

const directories: string[] = [];

export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), `gateway-carrying-${randomBytes(3).toString('hex')}-`));
  directories.push(directory);
  return directory;
}

export function removeDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

const TABLES = [
  'requests',
  'ledger_records',
  'ledger_heads',
  'ledger_days',
  'usage_hourly',
  'usage_daily',
  'usage_daily_users',
  'usage_daily_end_customers',
  'usage_daily_agents',
  'usage_months',
  'budget_periods',
  'alerts',
];

/** Everything the ingest has written for a tenant, to be compared. */
export async function writtenOf(gateway: Gateway, tenantId: string): Promise<Record<string, unknown[]>> {
  const written: Record<string, unknown[]> = {};
  for (const table of TABLES) {
    written[table] = await gateway.sql(
      `select to_jsonb(${table}) as row from ${table} where tenant_id = $1 order by to_jsonb(${table})::text`,
      [tenantId],
    );
  }
  return written;
}
