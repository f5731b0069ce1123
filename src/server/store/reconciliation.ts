import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { InvoicedProvider } from '../../contract/providers.ts';
import { UNKNOWN_MODEL } from '../../contract/usage.ts';
import type { LedgerModel, Reconciliation } from '../domain/reconciliation.ts';
import type { Db } from './database.ts';

/** The list is not paged, so it must stay one that can be read at once. */
const MAX_LISTED = 500;

export interface RunRow {
  id: string;
  provider: InvoicedProvider;
  /** First day of the month. */
  invoice_month: string;
  status: string;
  file_name: string | null;
  layout: string;
  invoice_total_usd: string;
  ledger_total_usd: string;
  delta_usd: string;
  matched_lines: number;
  unmatched_lines: number;
  shadow_ai_count: number;
  created_at: Date;
}

export interface RunDraft {
  provider: InvoicedProvider;
  month: string;
  fileName: string | null;
  layout: string;
  result: Reconciliation;
  createdAt: Date;
}

/** The part of a reconciliation that only the detail shows. */
export type RunDetail = Pick<
  Reconciliation,
  'models' | 'other_lines' | 'other_usd' | 'outside_month_lines' | 'left_out_lines' | 'unmatched'
>;

const RUN = sql`
  id, provider, invoice_month, status, file_name, layout, invoice_total_usd, ledger_total_usd,
  invoice_total_usd - ledger_total_usd as delta_usd, matched_lines, unmatched_lines, shadow_ai_count, created_at`;

/** What the gateway metered of a provider in a month; it stands in the ledger record by record. */
export async function listLedgerModels(
  db: Db,
  tenantId: string,
  provider: InvoicedProvider,
  month: string,
): Promise<LedgerModel[]> {
  const firstDay = `${month}-01`;
  return db.query<LedgerModel>(sql`
    select coalesce(nullif(model_id, ''), ${UNKNOWN_MODEL}) as model_id,
           sum(requests)::bigint as requests, sum(cost_microdollars)::bigint as cost_microdollars
      from usage_daily
     where tenant_id = ${tenantId} and provider = ${provider}
       and day >= ${firstDay}::date and day < ${firstDay}::date + interval '1 month'
     group by 1 order by 1`);
}

export async function insertRun(db: Db, tenantId: string, draft: RunDraft): Promise<RunRow> {
  const { result } = draft;
  const detail: RunDetail = {
    models: result.models,
    other_lines: result.other_lines,
    other_usd: result.other_usd,
    outside_month_lines: result.outside_month_lines,
    left_out_lines: result.left_out_lines,
    unmatched: result.unmatched,
  };
  const rows = await db.query<RunRow>(sql`
    insert into reconciliation_runs (
      tenant_id, id, provider, invoice_month, status, file_name, layout, invoice_total_usd, ledger_total_usd,
      matched_lines, unmatched_lines, shadow_ai_count, detail, created_at)
    values (
      ${tenantId}, ${uuidv7({ msecs: draft.createdAt.getTime() })}, ${draft.provider}, ${`${draft.month}-01`},
      'completed', ${draft.fileName}, ${draft.layout}, ${result.invoice_total_usd}, ${result.ledger_total_usd},
      ${result.matched_lines}, ${result.unmatched_lines}, ${result.shadow_ai_count}, ${JSON.stringify(detail)},
      ${draft.createdAt})
    returning ${RUN}`);
  return rows[0]!;
}

export async function listRuns(db: Db, tenantId: string): Promise<RunRow[]> {
  return db.query<RunRow>(sql`
    select ${RUN} from reconciliation_runs
     where tenant_id = ${tenantId} order by created_at desc, id desc limit ${MAX_LISTED}`);
}

export async function findRun(
  db: Db,
  tenantId: string,
  id: string,
): Promise<(RunRow & { detail: RunDetail }) | null> {
  const rows = await db.query<RunRow & { detail: RunDetail }>(sql`
    select ${RUN}, detail from reconciliation_runs where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

export async function deleteRun(db: Db, tenantId: string, id: string): Promise<RunRow | null> {
  const rows = await db.query<RunRow>(sql`
    delete from reconciliation_runs where tenant_id = ${tenantId} and id = ${id} returning ${RUN}`);
  return rows[0] ?? null;
}
