import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { CANDIDATE_STATUSES } from '../../contract/pricing-candidates.ts';
import type { Provider } from '../../contract/providers.ts';
import type { CandidateFlag } from '../domain/pricing-candidates.ts';
import type { Db } from './database.ts';

export type CandidateStatus = (typeof CANDIDATE_STATUSES)[number];

export interface CandidateDraft {
  provider: Provider;
  model_id: string;
  model_family: string | null;
  context_window: number | null;
  old_price: Record<string, unknown> | null;
  new_rates: Record<string, string>;
  currency: string;
  excerpt: string;
  flags: CandidateFlag[];
}

export interface CandidateRow extends CandidateDraft {
  id: string;
  source: string;
  status: CandidateStatus;
  created_at: Date;
  decided_at: Date | null;
}

const columns = sql`
  id, provider, model_id, model_family, context_window, old_price, new_rates, currency, source, excerpt, flags,
  status, created_at, decided_at`;

/**
 * Offers what a source says now. What it offered before and no longer says is set aside; what waits already or
 * was turned down is not offered again.
 */
export async function offerCandidates(
  db: Db,
  source: string,
  drafts: readonly CandidateDraft[],
  now: Date,
): Promise<void> {
  const rows = JSON.stringify(drafts.map((draft) => ({ ...draft, id: uuidv7() })));
  await db.query(sql`
    update pricing_candidates as waiting set status = 'superseded', decided_at = ${now}
     where source = ${source} and status = 'pending'
       and not exists (
         select from json_to_recordset(${rows}::json) as said (
           provider text, model_id text, currency text, new_rates jsonb, old_price jsonb)
          where said.provider = waiting.provider and said.model_id = waiting.model_id
            and said.currency = waiting.currency and said.new_rates = waiting.new_rates
            and said.old_price is not distinct from waiting.old_price)`);
  await db.query(sql`
    insert into pricing_candidates
      (id, provider, model_id, model_family, context_window, old_price, new_rates, currency, source, excerpt,
       flags, created_at)
    select id, provider, model_id, model_family, context_window, old_price, new_rates, currency, ${source},
           excerpt, flags, ${now}
      from json_to_recordset(${rows}::json) as said (
        id uuid, provider text, model_id text, model_family text, context_window bigint, old_price jsonb,
        new_rates jsonb, currency text, excerpt text, flags text[])
        on conflict do nothing`);
}

export async function listCandidates(
  db: Db,
  status: CandidateStatus,
  page: { limit: number; offset: number },
): Promise<{ rows: CandidateRow[]; total: number }> {
  const rows = await db.query<CandidateRow>(sql`
    select ${columns} from pricing_candidates where status = ${status}
     order by created_at desc, provider, model_id, id limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(sql`
    select count(*) as total from pricing_candidates where status = ${status}`);
  return { rows, total: counted[0]!.total };
}

/** Locked until the transaction ends: of two decisions at once the second finds it decided. */
export async function lockCandidate(db: Db, id: string): Promise<CandidateRow | null> {
  const rows = await db.query<CandidateRow>(sql`
    select ${columns} from pricing_candidates where id = ${id} for update`);
  return rows[0] ?? null;
}

export async function decideCandidate(
  db: Db,
  id: string,
  status: 'approved' | 'rejected',
  decidedAt: Date,
): Promise<void> {
  await db.query(sql`
    update pricing_candidates set status = ${status}, decided_at = ${decidedAt} where id = ${id}`);
}

export interface PriceSourceRow {
  source: string;
  last_run_at: Date | null;
  last_success_at: Date | null;
  last_error: string | null;
  models_found: string[];
  skipped: string[];
}

/** Makes the list of sources what is configured; those that stay keep what is known of them. */
export async function registerPriceSources(db: Db, sources: readonly string[]): Promise<void> {
  await db.query(sql`delete from price_sources where source <> all(${sources}::text[])`);
  await db.query(sql`
    insert into price_sources (source) select unnest(${sources}::text[]) order by 1 on conflict do nothing`);
}

export async function listPriceSources(db: Db): Promise<PriceSourceRow[]> {
  return db.query<PriceSourceRow>(sql`select * from price_sources order by source`);
}

/** A success says what was found; a failure leaves what the last success found. */
export async function recordSourceRun(
  db: Db,
  source: string,
  run: { at: Date } & ({ error: string } | { error: null; modelsFound: string[]; skipped: string[] }),
): Promise<void> {
  if (run.error !== null) {
    await db.query(sql`
      update price_sources set last_run_at = ${run.at}, last_error = ${run.error} where source = ${source}`);
    return;
  }
  await db.query(sql`
    update price_sources
       set last_run_at = ${run.at}, last_success_at = ${run.at}, last_error = null,
           models_found = ${run.modelsFound}::text[], skipped = ${run.skipped}::text[]
     where source = ${source}`);
}

/** The models a source may price: all that are not inactive, with their price in force. */
export async function listPriceableModels(
  db: Db,
  at: Date,
): Promise<Array<{ provider: Provider; model_id: string; price: Record<string, unknown> | null }>> {
  return db.query(sql`
    select provider, model_id,
           (select price from prices where prices.model = models.id and effective_from <= ${at}
             order by effective_from desc limit 1) as price
      from models where status <> 'inactive'`);
}

/** Every model that answered from a day on, of any tenant. */
export async function listSeenModels(
  db: Db,
  fromDay: string,
): Promise<Array<{ provider: Provider; model_id: string }>> {
  return db.query(sql`
    select distinct provider, model_id from usage_daily where day >= ${fromDay} and model_id <> ''`);
}
