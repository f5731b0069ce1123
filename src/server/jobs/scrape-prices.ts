import type { Provider } from '../../contract/providers.ts';
import { fetchPage } from '../adapters/page-fetch.ts';
import { findPrice } from '../domain/price-book.ts';
import { readLiteLlm, readModelsDev } from '../domain/price-catalogues.ts';
import { readPricePage } from '../domain/price-pages.ts';
import { ratesByField, type SourceReading, type StatedPrice } from '../domain/price-readings.ts';
import { isFetchable, type PriceSource, sourceName } from '../domain/price-sources.ts';
import { flagsOf, hasLostModels } from '../domain/pricing-candidates.ts';
import type { Db } from '../store/database.ts';
import { loadPriceBook } from '../store/prices.ts';
import {
  type CandidateDraft,
  listPriceableModels,
  listPriceSources,
  listSeenModels,
  offerCandidates,
  recordSourceRun,
  registerPriceSources,
} from '../store/pricing-candidates.ts';
import type { JobParts, Task } from './task.ts';

const SEEN_DAYS = 30;
const DAY_MS = 86_400_000;
const MAX_SKIPPED_SHOWN = 50;

/** The models looked for, each with its price in force; null for one that is called but has none. */
type Priced = Map<Provider, Map<string, Record<string, unknown> | null>>;

/**
 * Reads every configured source and offers what differs from our prices to the operator. Each source stands for
 * itself: one that fails says so, and keeps nobody from reading the others.
 */
export function scrapePrices(parts: JobParts): Task {
  return async () => {
    const names = parts.priceSources.map(sourceName);
    await parts.database.asSystem((db) => registerPriceSources(db, names));
    if (names.length === 0) parts.log.info('no price sources configured');
    for (const source of parts.priceSources) await readSource(parts, source);
  };
}

async function readSource(parts: JobParts, source: PriceSource): Promise<void> {
  const name = sourceName(source);
  const page = await fetchPage(source.url, isFetchable);
  const at = new Date(parts.nowMs());
  await parts.database.asSystem(async (db) => {
    const fail = (error: string) => recordSourceRun(db, name, { at, error });
    if (page.kind === 'failed') return fail(page.reason);
    const wanted = await listWantedModels(db, at);
    const reading = readPage(source, page.text, wanted);
    if (reading.kind === 'failed') return fail(reading.reason);
    const found = new Set(reading.prices.map((price) => `${price.provider} ${price.model_id}`));
    if (found.size === 0) return fail('no known model was found');
    const before = (await listPriceSources(db)).find((row) => row.source === name)?.models_found ?? [];
    // A model that we no longer look for is not one that the source has lost.
    const stillWanted = before.filter((key) => isWanted(wanted, key));
    if (hasLostModels(stillWanted, found)) {
      return fail(`only ${found.size} of the ${stillWanted.length} models it had were found; it has changed`);
    }
    await offerCandidates(db, name, candidatesOf(reading.prices, wanted), at);
    const skipped = reading.skipped.slice(0, MAX_SKIPPED_SHOWN);
    await recordSourceRun(db, name, { at, error: null, modelsFound: [...found].sort(), skipped });
  });
}

function readPage(source: PriceSource, text: string, wanted: Priced): SourceReading {
  const names = new Map([...wanted].map(([provider, models]) => [provider, new Set(models.keys())]));
  switch (source.kind) {
    case 'models_dev':
      return readModelsDev(text, names);
    case 'litellm':
      return readLiteLlm(text, names);
    case 'html':
      return readPricePage(text, source.provider, names.get(source.provider) ?? new Set());
  }
}

/** Our models, and those that were called lately without having a price. */
async function listWantedModels(db: Db, at: Date): Promise<Priced> {
  const wanted: Priced = new Map();
  const add = (provider: Provider, modelId: string, price: Record<string, unknown> | null) => {
    const models = wanted.get(provider) ?? new Map();
    models.set(modelId, price);
    wanted.set(provider, models);
  };
  const book = await loadPriceBook(db);
  const fromDay = new Date(at.getTime() - (SEEN_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  for (const { provider, model_id } of await listSeenModels(db, fromDay)) {
    if (!findPrice(book, provider, model_id, null, at.getTime())) add(provider, model_id, null);
  }
  for (const row of await listPriceableModels(db, at)) add(row.provider, row.model_id, row.price);
  return wanted;
}

function isWanted(wanted: Priced, key: string): boolean {
  const [provider, modelId] = key.split(' ', 2);
  return wanted.get(provider as Provider)?.has(modelId!) ?? false;
}

function candidatesOf(stated: readonly StatedPrice[], wanted: Priced): CandidateDraft[] {
  return stated.flatMap((price) => {
    const current = wanted.get(price.provider)?.get(price.model_id) ?? null;
    const flags = flagsOf(price, current);
    if (flags === null) return [];
    const { provider, model_id, model_family, context_window, currency, excerpt } = price;
    const new_rates = ratesByField(price);
    return [
      {
        provider,
        model_id,
        model_family,
        context_window,
        old_price: current,
        new_rates,
        currency,
        excerpt,
        flags,
      },
    ];
  });
}
