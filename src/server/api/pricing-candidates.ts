import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import type { pricingCandidatesOperations } from '../../contract/pricing-candidates.ts';
import { priceChangesOf } from '../domain/price-readings.ts';
import { sourceName } from '../domain/price-sources.ts';
import { whyUnusable } from '../domain/pricing-candidates.ts';
import type { Db } from '../store/database.ts';
import { addJob } from '../store/jobs.ts';
import { insertModel, lockModelByName } from '../store/models.ts';
import * as store from '../store/pricing-candidates.ts';
import type { Call, Handlers } from './handler.ts';
import { showPrice } from './models.ts';
import { recordOperatorAudit } from './operator-audit.ts';
import { pageOf } from './page.ts';
import type { ApiParts } from './parts.ts';
import { setPrice } from './price-setting.ts';

type Operations = typeof pricingCandidatesOperations;
type Candidate = ResponseOf<Operations['approvePricingCandidate']>;
type Deciding = Pick<Call<Operations['approvePricingCandidate']>, 'params' | 'ip'>;

export function pricingCandidatesApi(parts: ApiParts): Handlers<Operations> {
  return {
    listPricingCandidates: ({ query }) =>
      parts.database.asSystem(async (db) => {
        const page = pageOf(query);
        const { rows, total } = await store.listCandidates(db, query.status ?? 'pending', page);
        return { data: rows.map(show), total, ...page };
      }),
    approvePricingCandidate: (call) => decide(parts, call, 'approved'),
    rejectPricingCandidate: (call) => decide(parts, call, 'rejected'),
    listPriceSources: async () => {
      const known = await parts.database.asSystem(store.listPriceSources);
      return parts.config.priceSources.map((source) => {
        const name = sourceName(source);
        const row = known.find((candidate) => candidate.source === name);
        return {
          source: name,
          last_run_at: row?.last_run_at?.toISOString() ?? null,
          last_success_at: row?.last_success_at?.toISOString() ?? null,
          last_error: row?.last_error ?? null,
          models_found: row?.models_found.length ?? 0,
          skipped: row?.skipped ?? [],
        };
      });
    },
    runScraper: ({ ip }) =>
      parts.database.asSystem(async (db) => {
        const sources = parts.config.priceSources.map(sourceName);
        if (sources.length === 0) {
          const message = 'No price sources are configured; set GATEWAY_PRICE_SOURCES.';
          return { job: 'scrape_prices', status: 'no_sources' as const, message, sources };
        }
        await addJob(db, 'scrape_prices', {});
        await recordOperatorAudit(db, ip, {
          action: 'scraper.run_requested',
          resourceType: 'job',
          resourceId: 'scrape_prices',
        });
        const message = 'The price sources are being read.';
        return { job: 'scrape_prices', status: 'queued' as const, message, sources };
      }),
  };
}

function decide(
  parts: ApiParts,
  { params, ip }: Deciding,
  decision: 'approved' | 'rejected',
): Promise<Candidate | Refusal> {
  return parts.database.asSystem(async (db) => {
    const candidate = isUuid(params.id) ? await store.lockCandidate(db, params.id!) : null;
    if (!candidate) return refuse('not_found');
    if (candidate.status !== 'pending')
      return refuse('conflict', `This candidate is ${candidate.status} already.`);
    const now = new Date(parts.nowMs());
    if (decision === 'approved') {
      const refused = await putInForce(db, candidate, now);
      if (refused) return refused;
    }
    await store.decideCandidate(db, candidate.id, decision, now);
    await recordOperatorAudit(db, ip, {
      action: `pricing_candidate.${decision}`,
      resourceType: 'pricing_candidate',
      resourceId: candidate.id,
      details: {
        provider: candidate.provider,
        model_id: candidate.model_id,
        new_rates: candidate.new_rates,
        source: candidate.source,
      },
    });
    return show({ ...candidate, status: decision, decided_at: now });
  });
}

/** Null when the price is in force; a model that was only seen so far comes into being with it. */
async function putInForce(db: Db, candidate: store.CandidateRow, now: Date): Promise<Refusal | null> {
  const unusable = whyUnusable(candidate.flags);
  if (unusable !== null) {
    return refuse(
      'conflict',
      `This price cannot be charged: ${unusable} Reject it, or set the price by hand.`,
    );
  }
  let model = await lockModelByName(db, candidate.provider, candidate.model_id);
  if (model === null) {
    model = uuidv7();
    await insertModel(db, {
      id: model,
      provider: candidate.provider,
      modelId: candidate.model_id,
      modelFamily: candidate.model_family ?? candidate.model_id,
      contextWindow: candidate.context_window,
      status: 'active',
    });
  }
  const set = await setPrice(db, {
    model,
    changes: priceChangesOf(candidate.new_rates, candidate.old_price),
    effectiveFrom: now,
    now,
    source: candidate.source,
    note: null,
    apply: true,
  });
  return isRefusal(set) ? set : null;
}

function show(row: store.CandidateRow): Candidate {
  const rates = Object.entries(row.new_rates).map(([field, text]) => [field, Number(text)]);
  return {
    id: row.id,
    provider: row.provider,
    model_id: row.model_id,
    old_price: row.old_price && showPrice(row.old_price),
    new_price: Object.fromEntries(rates),
    currency: row.currency,
    source: row.source,
    excerpt: row.excerpt,
    flags: row.flags,
    status: row.status,
    created_at: row.created_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
  };
}
