import { type Refusal, refuse } from '../../contract/errors.ts';
import { comparePrices } from '../domain/price-changes.ts';
import { PRICE_FIELDS, type PriceProblem, parsePrice, priceToJson } from '../domain/price-json.ts';
import type { Db } from '../store/database.ts';
import { insertPriceChange } from '../store/price-changes.ts';
import { findPriceInForce, openPrice } from '../store/prices.ts';

type Fields = Record<string, unknown>;

export interface PriceSetting {
  model: string;
  /** The parts of the price to change: null takes one away, what is absent stays. */
  changes: Fields;
  effectiveFrom: Date;
  now: Date;
  source: string;
  note: string | null;
  /** False tells of the change without putting it in force. */
  apply: boolean;
}

export type PriceSet =
  | { kind: 'unchanged' }
  /** The first price of a model is no change of a price, so nobody has to be told. */
  | { kind: 'first'; priceId: string }
  | { kind: 'changed'; priceId: string | null; changeId: string };

/** The one way a price comes into force: a new effective row, the change on record, the tenants told. */
export async function setPrice(db: Db, setting: PriceSetting): Promise<PriceSet | Refusal> {
  const old = await findPriceInForce(db, setting.model, setting.effectiveFrom);
  const price = parsePrice(withoutNulls({ ...old, ...setting.changes }));
  if ('problem' in price) return refuseField(price);
  const next = priceToJson(price);
  if (old && comparePrices(old, next).length === 0) return { kind: 'unchanged' };
  const priceId = setting.apply ? await openPrice(db, { ...setting, price: next }) : null;
  if (setting.apply && priceId === null) {
    return refuse('conflict', 'Another price of this model begins at the same instant.');
  }
  if (!old) {
    if (priceId !== null) return { kind: 'first', priceId };
    return refuse('conflict', 'This model has no price yet that could change.');
  }
  const changeId = await insertPriceChange(db, {
    model: setting.model,
    priceId,
    oldPrice: old,
    newPrice: next,
    effectiveAt: setting.effectiveFrom,
    source: setting.source,
    note: setting.note,
    createdAt: setting.now,
  });
  return { kind: 'changed', priceId, changeId };
}

export function refuseField({ field, problem }: PriceProblem): Refusal {
  return refuse('invalid_field', `The field "${field}" ${problem}.`);
}

/** The parts of a body that belong to its price. */
export function priceFieldsOf(body: Fields): Fields {
  return Object.fromEntries(Object.entries(body).filter(([name]) => PRICE_FIELDS.includes(name)));
}

/** A price that begins in the past would re-price what was charged already. */
export function readEffectiveFrom(field: string, text: string | undefined, now: Date): Date | Refusal {
  if (text === undefined) return now;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return refuseField({ field, problem: 'must be an RFC 3339 time' });
  if (at < now) return refuseField({ field, problem: 'must not be in the past' });
  return at;
}

function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
