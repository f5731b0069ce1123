import type { Provider } from '../../contract/providers.ts';
import type { Price } from './pricing.ts';

/** One effective price of one model; it holds until a row of the same model with a later start. */
export interface PriceRow {
  price_id: string;
  provider: Provider;
  model_id: string;
  model_family: string;
  /** Epoch milliseconds. */
  effective_from: number;
  price: Price;
}

export interface FoundPrice {
  price: Price;
  priceId: string;
  /** The name whose rate is charged; it can differ from both the model asked for and the one that answered. */
  billedModelId: string;
  modelFamily: string;
}

/** Each model's rows by provider and name, the latest start first. */
export type PriceBook = ReadonlyMap<string, readonly PriceRow[]>;

const DATE_SUFFIX = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;
const GEMINI_RESOURCE_PREFIX = 'models/';

export function makePriceBook(rows: readonly PriceRow[]): PriceBook {
  const book = new Map<string, PriceRow[]>();
  for (const row of rows) {
    const key = keyOf(row.provider, bareModelId(row.model_id));
    const known = book.get(key);
    if (known) known.push(row);
    else book.set(key, [row]);
  }
  for (const known of book.values()) known.sort((a, b) => b.effective_from - a.effective_from);
  return book;
}

/**
 * The model asked for is what is billed; the model that answered only stands in when the name asked for has
 * no price. Names match exactly: a prefix match would bill `gpt-5.6-sol` as `gpt-5`. Before an answer is
 * there (`modelServed` null) the model asked for is taken to be the one that will answer, so that a dated
 * name finds the same price when it is reserved as when it is settled.
 */
export function findPrice(
  book: PriceBook,
  provider: Provider,
  modelRequested: string | null,
  modelServed: string | null,
  atMs: number,
): FoundPrice | null {
  const requested = modelRequested === null ? null : bareModelId(modelRequested);
  const served = modelServed === null ? requested : bareModelId(modelServed);
  const row =
    (requested !== null && rowAt(book, provider, requested, atMs)) ||
    (served !== null && rowAt(book, provider, served, atMs)) ||
    (served !== null &&
      DATE_SUFFIX.test(served) &&
      rowAt(book, provider, served.replace(DATE_SUFFIX, ''), atMs));
  if (!row) return null;
  return {
    price: row.price,
    priceId: row.price_id,
    billedModelId: bareModelId(row.model_id),
    modelFamily: row.model_family,
  };
}

function rowAt(book: PriceBook, provider: Provider, modelId: string, atMs: number): PriceRow | undefined {
  return book.get(keyOf(provider, modelId))?.find((row) => row.effective_from <= atMs);
}

function keyOf(provider: Provider, modelId: string): string {
  return `${provider} ${modelId}`;
}

/** Gemini names a model `models/x` in some places and `x` in others. */
function bareModelId(modelId: string): string {
  return modelId.startsWith(GEMINI_RESOURCE_PREFIX) ? modelId.slice(GEMINI_RESOURCE_PREFIX.length) : modelId;
}
