import { type JsonObject, stringIn } from './json.ts';
import { jsonReply, type Reply, type ReplyHeaders } from './reply.ts';
import { idFor, type SimRequest } from './request.ts';

/** What the OpenAI endpoints have in common: errors, headers, tiers and output caps. */
export function openAiError(
  status: number,
  message: string,
  param: string | null = null,
  code: string | null = null,
): Reply {
  return jsonReply(status, { error: { message, type: errorType(status), param, code } });
}

function errorType(status: number): string {
  if (status === 429) return 'requests';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

export function openAiHeaders(request: SimRequest): ReplyHeaders {
  return {
    'openai-version': '2020-10-01',
    'openai-processing-ms': '12',
    'x-request-id': idFor(request, 'req_'),
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-remaining-requests': '9999',
  };
}

/** The tier served for the tier asked: `auto` and nothing are the default tier, `fast` is echoed as priority. */
export function servedTier(json: JsonObject | null, scripted: string | null): string {
  const asked = scripted ?? stringIn(json, 'service_tier') ?? 'default';
  if (asked === 'fast') return 'priority';
  return asked === 'auto' ? 'default' : asked;
}

/** The first cap the request sets; `invalid` names a cap that is not a positive integer. */
export function tokenCap(
  json: JsonObject,
  names: string[],
): { tokens: number | null; invalid: string | null } {
  for (const name of names) {
    const value = json[name];
    if (value === undefined || value === null) continue;
    const isValid = typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
    return isValid ? { tokens: value, invalid: null } : { tokens: null, invalid: name };
  }
  return { tokens: null, invalid: null };
}
