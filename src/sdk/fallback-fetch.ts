/**
 * A `fetch` for an application that would rather spend unmetered than not be answered: calls go to the gateway,
 * and straight to the provider when the gateway cannot be reached or says 503. Nothing else is ever sent twice:
 * a refusal (401, 429, 451) is an answer, and a connection that broke after the request went out may have been
 * served and billed already.
 *
 * Stands alone, so that it can be copied into an application or imported from the built package.
 */
export interface FallbackOptions {
  /** The base URL the client was given, for example `https://gateway.example.com/v1/proxy/openai/v1`. */
  gatewayUrl: string;
  gatewayKey: string;
  /** The provider's own base URL that stands for it, for example `https://api.openai.com/v1`. */
  providerUrl: string;
  /** Without one nothing falls back: the call fails as the gateway's did. */
  providerKey?: string | undefined;
  /** Told of every call that went past the meter, so that somebody notices. */
  onFallback?: (cause: string) => void;
  fetch?: typeof fetch;
}

/** The connection was never made, so the gateway cannot have seen the request. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'];
const GATEWAY_HEADER = /^x-gateway-/i;

export function fallbackFetch(options: FallbackOptions): typeof fetch {
  const send = options.fetch ?? fetch;
  return async (input, init) => {
    const again = directRequest(options, input, init);
    try {
      const response = await send(input, init);
      if (again === null || !(await isGatewayAway(response))) return response;
      await response.body?.cancel();
    } catch (fault) {
      if (again === null || !neverConnected(fault)) throw fault;
      options.onFallback?.(messageOf(fault));
      return send(...again);
    }
    options.onFallback?.('the gateway answered 503');
    return send(...again);
  };
}

/** The same call at the provider; null when it cannot be made, or could not be made twice. */
function directRequest(
  { gatewayUrl, gatewayKey, providerUrl, providerKey }: FallbackOptions,
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): [string, RequestInit] | null {
  // A Request or a stream can be read once only; official clients send texts and bytes.
  if (!providerKey || input instanceof Request || init?.body instanceof ReadableStream) return null;
  const url = new URL(input);
  const base = new URL(gatewayUrl);
  const prefix = base.pathname.replace(/\/$/, '');
  if (url.origin !== base.origin || !url.pathname.startsWith(`${prefix}/`)) return null;
  const direct = new URL(providerUrl.replace(/\/$/, '') + url.pathname.slice(prefix.length) + url.search);
  if (direct.searchParams.get('key') === gatewayKey) direct.searchParams.set('key', providerKey);
  const headers = new Headers(init?.headers);
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers.get(name);
    if (value?.includes(gatewayKey)) headers.set(name, value.replaceAll(gatewayKey, providerKey));
  }
  for (const name of [...headers.keys()]) if (GATEWAY_HEADER.test(name)) headers.delete(name);
  return [direct.href, { ...init, headers }];
}

/** A 503 of the provider's own comes through the gateway too, and asking it again would not help. */
async function isGatewayAway(response: Response): Promise<boolean> {
  if (response.status !== 503) return false;
  const text = await response.clone().text();
  // Whatever stands before the gateway says 503 in its own words, and without the gateway's mark.
  if (!response.headers.has('x-gateway-request-id')) return true;
  return /"error":\s*"unavailable"/.test(text);
}

function neverConnected(fault: unknown): boolean {
  const { code, cause } = (fault ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && NEVER_CONNECTED.has(code)) return true;
  if (cause instanceof AggregateError) return cause.errors.every(neverConnected);
  return cause !== undefined && neverConnected(cause);
}

function messageOf(fault: unknown): string {
  const { cause } = fault as { cause?: { message?: string } };
  return `the gateway cannot be reached: ${cause?.message || String(fault)}`;
}
