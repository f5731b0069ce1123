import type { Provider } from '../../contract/providers.ts';
import { mentionsApiKey } from '../domain/api-keys.ts';
import { isGatewayHeader } from '../domain/attribution.ts';
import { readableEncodings } from './tap/decode.ts';

/** RFC 9110 §7.6.1, and what belongs to one connection in practice. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers in which somebody's key may stand. None of the caller's goes on, whatever is in it. */
const CREDENTIALS = new Set([
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'x-auth-token',
  'ocp-apim-subscription-key',
  'cookie',
]);

/** Query parameters with which Google's servers can be given a credential, or a header that holds one. */
const GOOGLE_CREDENTIAL_PARAMETERS = new Set([
  'key',
  '$key',
  'access_token',
  '$access_token',
  'oauth_token',
  '$oauth_token',
  '$httpheaders',
]);

/** Set anew for the upstream, or of no use to it. */
const OWN = new Set(['host', 'content-length', 'expect']);
/** Who the caller is to the servers in front of us is nothing the provider should learn. */
const ABOUT_THE_CALLER = /^(?:forwarded$|x-forwarded-|x-real-ip$|x-client-ip$|true-client-ip$|cf-)/;

const CREDENTIAL_HEADER: Record<Provider, (key: string) => [string, string]> = {
  prov_a: (key) => ['Authorization', `Bearer ${key}`],
  prov_b: (key) => ['x-api-key', key],
  prov_c: (key) => ['x-goog-api-key', key],
  prov_d: (key) => ['Authorization', `Bearer ${key}`],
};

/** A shorter "key" of a local model is no secret, and would be found in any header. */
const MIN_SECRET_LENGTH = 8;

/** Where a provider's own clients put the key, besides `Authorization`. */
const KEY_HEADERS: Record<Provider, readonly string[]> = {
  prov_a: [],
  prov_b: ['x-api-key'],
  prov_c: ['x-goog-api-key'],
  prov_d: ['x-api-key'],
};

/**
 * The gateway key as the caller sent it, from the places this provider's clients use. Some send a credential of
 * the provider's beside it, so what looks like a key of ours is preferred.
 */
export function findKeyText(
  provider: Provider,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  query: string,
): string | null {
  const bearer = /^Bearer +(\S+) *$/i.exec(String(headers.authorization ?? ''))?.[1];
  if (bearer !== undefined && mentionsApiKey(bearer)) return bearer;
  const found = KEY_HEADERS[provider].map((name) => headers[name]);
  if (provider === 'prov_c') found.push(new URLSearchParams(query).get('key') ?? undefined);
  const texts = found.filter((text): text is string => typeof text === 'string' && text !== '');
  return texts.find(mentionsApiKey) ?? bearer ?? texts[0] ?? null;
}

/** The query without the key, wherever and however often it stood; all other bytes as they came. */
export function queryWithoutKey(provider: Provider, query: string): string {
  if (query === '') return '';
  return query
    .split('&')
    .filter((part) => !(provider === 'prov_c' && isGoogleCredential(part)) && !holdsApiKey(part))
    .join('&');
}

function isGoogleCredential(part: string): boolean {
  const [name] = new URLSearchParams(part).keys();
  return name !== undefined && GOOGLE_CREDENTIAL_PARAMETERS.has(name.toLowerCase());
}

/** Whether a part of a target says a key of ours, in any spelling. */
export function holdsApiKey(text: string): boolean {
  if (mentionsApiKey(text)) return true;
  return text.includes('%') && mentionsApiKey(decodedLoosely(text));
}

/** Percent signs that spell nothing stay as they are; as often decoded as a target may be encoded. */
function decodedLoosely(text: string): string {
  let decoded = text;
  for (let round = 0; round < MAX_DECODINGS && decoded.includes('%'); round += 1) {
    decoded = decoded.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  return decoded;
}
const MAX_DECODINGS = 4;

type Fate = 'passed' | 'dropped' | 'encoding';
/** What becomes of a caller's header, by its name as it was spelled: there are few, and they come every time. */
const MAX_FATES = 1_000;
const MAX_FATE_NAME_LENGTH = 64;
const fates = new Map<string, Fate>();

function fateOf(name: string): Fate {
  const known = fates.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const isDropped =
    HOP_BY_HOP.has(lower) ||
    CREDENTIALS.has(lower) ||
    OWN.has(lower) ||
    isGatewayHeader(lower) ||
    ABOUT_THE_CALLER.test(lower);
  const fate = lower === 'accept-encoding' ? 'encoding' : isDropped ? 'dropped' : 'passed';
  if (name.length > MAX_FATE_NAME_LENGTH) return fate;
  if (fates.size >= MAX_FATES) fates.clear();
  fates.set(name, fate);
  return fate;
}

/** What goes upstream: the caller's headers in their order and spelling, less what is not theirs to send. */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  provider: Provider,
  providerKey: string,
): string[] {
  const dropped = connectionOptions(rawHeaders);
  const headers: string[] = [];
  let acceptEncoding: string | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const value = rawHeaders[index + 1]!;
    const fate = fateOf(name);
    if (fate === 'encoding')
      acceptEncoding = acceptEncoding === undefined ? value : `${acceptEncoding}, ${value}`;
    else if (fate === 'passed' && !dropped.has(name.toLowerCase()) && !holdsApiKey(value))
      headers.push(name, value);
  }
  headers.push('Accept-Encoding', readableEncodings(acceptEncoding));
  headers.push(...CREDENTIAL_HEADER[provider](providerKey));
  return headers;
}

/** What goes back: the provider's headers as they came, less the connection's own and any that holds its key. */
export function downstreamHeaders(
  rawHeaders: readonly Buffer[],
  providerKey: string,
  requestId: string,
): string[] {
  const pairs = rawHeaders.map((part) => part.toString('latin1'));
  const dropped = connectionOptions(pairs);
  const secret = providerKey.length >= MIN_SECRET_LENGTH;
  const headers: string[] = [];
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const lower = pairs[index]!.toLowerCase();
    if (HOP_BY_HOP.has(lower) || dropped.has(lower) || lower === 'x-gateway-request-id') continue;
    if (secret && pairs[index + 1]!.includes(providerKey)) continue;
    headers.push(pairs[index]!, pairs[index + 1]!);
  }
  headers.push('X-Gateway-Request-Id', requestId);
  return headers;
}

/** Headers that `Connection` names belong to that connection alone. */
function connectionOptions(rawHeaders: readonly string[]): ReadonlySet<string> {
  let options: Set<string> | null = null;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length !== 10 || rawHeaders[index]!.toLowerCase() !== 'connection') continue;
    options ??= new Set();
    for (const option of rawHeaders[index + 1]!.split(',')) options.add(option.trim().toLowerCase());
  }
  return options ?? NO_OPTIONS;
}
const NO_OPTIONS: ReadonlySet<string> = new Set();

const KEPT_HEADERS = [
  'user-agent',
  'content-type',
  'anthropic-version',
  'anthropic-beta',
  'x-stainless-lang',
];
const MAX_KEPT_CHARACTERS = 200;

/** The few request headers worth seeing in a request's detail, unless somebody put a key there. */
export function keptHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && !holdsApiKey(value)) kept[name] = value.slice(0, MAX_KEPT_CHARACTERS);
  }
  return kept;
}
