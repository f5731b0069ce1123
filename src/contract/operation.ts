import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCause } from './errors.ts';

/**
 * One row of the API: what it is called, who may call it, what goes in and what comes out. The same object
 * validates, types, serializes and documents.
 */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** Older spellings of the path that behave as the path itself. */
  aliases?: readonly string[];
  auth: 'none' | 'tenant' | 'operator';
  tag: string;
  summary: string;
  query?: TObject;
  body?: TObject;
  /** The body is multipart/form-data: one file, and the fields of `body` as texts. Read by the handler as it comes. */
  upload?: true;
  /** Unknown body fields are refused instead of answered with a warning (a price silently lost is money lost). */
  strict?: true;
  success: 200 | 201 | 204;
  /** The JSON a success carries; null where it carries none or is a stream. */
  response: TSchema | null;
  /** What else a success may be, chosen by the caller. */
  streams?: 'csv' | 'sse';
  refusals?: readonly ErrorCause[];
}

/** Keeps literal types while checking the shape. */
export function operation<const O extends Operation>(row: O): O {
  return row;
}

export type BodyOf<O extends Operation> = O['body'] extends TObject ? Static<O['body']> : undefined;
export type QueryOf<O extends Operation> = O['query'] extends TObject
  ? Static<O['query']>
  : Record<never, never>;
export type ResponseOf<O extends Operation> = O['response'] extends TSchema
  ? Static<O['response']>
  : undefined;

/** A refusal code of its own for a field that is missing or wrong; without one it is `invalid_field`. */
export type FieldCodes = { 'x-missing'?: ErrorCause; 'x-invalid'?: ErrorCause };

export const MAX_TEXT_CHARACTERS = 256;

/** Visible text: something besides white space, no control characters. */
const PLAIN_TEXT = '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$';

export function text(codes: FieldCodes & { description?: string; maxLength?: number } = {}) {
  return Type.String({ minLength: 1, maxLength: MAX_TEXT_CHARACTERS, pattern: PLAIN_TEXT, ...codes });
}

export function oneOf<const V extends string[]>(
  values: readonly [...V],
  options: FieldCodes & { default?: string; description?: string } = {},
) {
  return Type.Enum<V>(values, options);
}

export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export const Timestamp = Type.String({ format: 'date-time', description: 'RFC 3339, UTC' });
export const Uuid = Type.String({ format: 'uuid' });
export const Microdollars = Type.Integer({ description: 'int64; 1 USD = 1,000,000 microdollars' });
export const Usd = Type.String({ description: 'US dollars with six decimals, exact' });
export const Message = Type.Object({ message: Type.String() });

export const DEFAULT_PAGE_LIMIT = 50;
export const MAX_PAGE_LIMIT = 500;

/** `limit` above the maximum is clamped, not refused; negative or non-numeric is refused. */
export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 0, default: DEFAULT_PAGE_LIMIT, description: `at most ${MAX_PAGE_LIMIT}` }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, default: 0, maximum: 1_000_000_000 })),
};

/** Whole UTC days, both inclusive. */
export const DayRangeQuery = {
  from: Type.Optional(
    Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'first UTC day, YYYY-MM-DD' }),
  ),
  to: Type.Optional(
    Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'last UTC day, YYYY-MM-DD' }),
  ),
};

export const FormatQuery = { format: Type.Optional(oneOf(['json', 'csv'])) };

export function page<S extends TSchema>(row: S) {
  return Type.Object({
    data: Type.Array(row),
    total: Type.Integer(),
    limit: Type.Integer(),
    offset: Type.Integer(),
  });
}
