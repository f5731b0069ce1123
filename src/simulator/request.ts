import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from '../contract/providers.ts';
import type { JsonObject } from './json.ts';
import type { SimRule } from './rule.ts';

/** One request as a provider's simulation sees it: read whole, parsed, with the rule that governs it. */
export interface SimRequest {
  readonly provider: Provider;
  readonly method: string;
  /** After the provider's base path, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: JsonObject | null;
  readonly rule: SimRule;
  /** Counts requests, so that every identifier of a run is unique and the same in every run. */
  readonly serial: number;
  readonly seed: number | null;
  readonly createdSeconds: number;
}

export function idFor(request: SimRequest, prefix: string): string {
  return `${prefix}Sim${request.serial.toString(36).padStart(22, '0')}`;
}

export function queryValue(request: SimRequest, name: string): string | null {
  return request.query === '' ? null : new URLSearchParams(request.query).get(name);
}

/** The credential of an `Authorization: Bearer` header. */
export function bearerKey(request: SimRequest): string | null {
  const header = request.headers.authorization;
  return header?.startsWith('Bearer ') ? header.slice('Bearer '.length) : null;
}
