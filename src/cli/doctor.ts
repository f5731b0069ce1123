import { reasonOf } from '../client/client.ts';
import { PROVIDER_LABELS, type Provider } from '../contract/providers.ts';
import { duration, money } from './format.ts';
import { interruptible, type Session } from './session.ts';
import { showable } from './text.ts';

/** How long a metered call may take to appear in the request log. */
const LOG_PATIENCE_MS = 10_000;
const LOG_POLL_MS = 200;
const CALL_TIMEOUT_MS = 30_000;

export type Check =
  | { name: string; result: 'ok'; detail: string }
  | { name: string; result: 'failed'; detail: string; next: string }
  | { name: string; result: 'skipped'; detail: string };

/** Listing models costs nothing at any provider, and it goes the whole way there and into the log. */
const FREE_CALLS: Record<Provider, { path: string; headers: Record<string, string> }> = {
  prov_a: { path: '/v1/models', headers: {} },
  prov_b: { path: '/v1/models', headers: { 'anthropic-version': '2023-06-01' } },
  prov_c: { path: '/v1beta/models', headers: {} },
  prov_d: { path: '/models', headers: {} },
};

export async function checkApi(session: Session): Promise<Check> {
  const name = 'API';
  const next = 'start the gateway (npm start), or say where it is: gw init --api-url <url>';
  const startMs = session.host.nowMs();
  try {
    const answer = await interruptible(session.anonymous.call('getHealth'), session.host.signal);
    const took = duration(session.host.nowMs() - startMs);
    if (!answer.ok)
      return { name, result: 'failed', detail: answer.message, next: 'look at the gateway’s database' };
    return {
      name,
      result: 'ok',
      detail: `${session.apiUrl} answers in ${took}, version ${answer.data.version}`,
    };
  } catch (error) {
    if (session.host.signal.aborted) throw error;
    return { name, result: 'failed', detail: (error as Error).message, next };
  }
}

/** A call without a key is refused by a gateway, and by nothing else in a gateway's own words. */
export async function checkProxy(session: Session): Promise<Check> {
  const name = 'Proxy';
  const next = 'say where the proxy is, once and for all: gw init --proxy-url <url>';
  try {
    const response = await callProxy(session, 'prov_a', null);
    const body = (await response.json().catch(() => null)) as { error?: unknown } | null;
    if (response.status !== 401 || typeof body?.error !== 'string') {
      return { name, result: 'failed', detail: `${session.proxyUrl} is not a gateway’s proxy`, next };
    }
    return { name, result: 'ok', detail: `${session.proxyUrl} answers` };
  } catch (error) {
    if (session.host.signal.aborted) throw error;
    return { name, result: 'failed', detail: `cannot reach ${session.proxyUrl}: ${reasonOf(error)}`, next };
  }
}

export async function checkToken(session: Session): Promise<Check> {
  const name = 'Token';
  if (session.config.token === null)
    return { name, result: 'failed', detail: 'you are not logged in', next: 'gw login' };
  const answer = await interruptible(session.client.call('getAccount'), session.host.signal);
  if (!answer.ok) return { name, result: 'failed', detail: session.refuse(answer).message, next: 'gw login' };
  return { name, result: 'ok', detail: `logged in as ${showable(answer.data.email)}` };
}

export type ProviderCheck = { check: Check; provider: Provider | null };

export async function checkProviderKeys(session: Session): Promise<ProviderCheck> {
  const name = 'Provider key';
  const keys = await session.take(session.client.call('listProviderKeys'));
  const [first] = keys.sort((a, b) => a.provider.localeCompare(b.provider));
  if (!first) {
    return {
      check: { name, result: 'failed', detail: 'none is stored', next: 'gw providers add prov_a' },
      provider: null,
    };
  }
  const names = keys.map((key) => `${key.provider} (${PROVIDER_LABELS[key.provider]})`).join(', ');
  return { check: { name, result: 'ok', detail: `stored for ${names}` }, provider: first.provider };
}

/** One call through everything, with a key of its own that is revoked right after. */
export async function checkMeteredCall(session: Session, provider: Provider): Promise<Check> {
  const name = 'Metered call';
  const { client } = session;
  const key = await session.take(
    client.call('createApiKey', { body: { name: 'gw doctor', environment: 'test' } }),
  );
  try {
    const startMs = session.host.nowMs();
    const response = await callProxy(session, provider, key.key);
    const text = await response.text();
    const took = duration(session.host.nowMs() - startMs);
    if (!response.ok) return callFailure(name, provider, response.status, text);
    const requestId = response.headers.get('x-gateway-request-id') ?? '';
    const costMicrodollars = await loggedCost(session, requestId);
    if (costMicrodollars === null) {
      return {
        name,
        result: 'failed',
        detail: `${provider} answered, but the call is not in the request log`,
        next: 'gw requests',
      };
    }
    return {
      name,
      result: 'ok',
      detail: `${provider} answered ${response.status} in ${took}; logged, cost ${money(costMicrodollars)}`,
    };
  } catch (error) {
    if (session.host.signal.aborted) throw error;
    return { name, result: 'failed', detail: reasonOf(error), next: 'gw status' };
  } finally {
    await client.call('revokeApiKey', { params: { id: key.id } });
  }
}

function callFailure(name: string, provider: Provider, status: number, body: string): Check {
  let code: unknown;
  try {
    code = JSON.parse(body).error;
  } catch {
    code = null;
  }
  // A provider's own refusal has no bare code; the gateway's has.
  const detail =
    typeof code === 'string'
      ? `the gateway answered ${status} (${showable(code)})`
      : `${provider} answered ${status}`;
  const next =
    code === 'killed'
      ? 'gw kill list'
      : code === 'budget_exceeded'
        ? 'gw budgets list'
        : status === 401 || status === 403
          ? `the provider refuses the stored key: gw providers add ${provider}`
          : code === 'upstream_unreachable' || code === 'upstream_timeout'
            ? `ask whoever runs the gateway whether it can reach ${provider}`
            : 'gw requests';
  return { name, result: 'failed', detail, next };
}

async function loggedCost(session: Session, requestId: string): Promise<number | null> {
  const endMs = session.host.nowMs() + LOG_PATIENCE_MS;
  while (session.host.nowMs() < endMs) {
    const answer = await interruptible(
      session.client.call('getRequest', { params: { id: requestId } }),
      session.host.signal,
    );
    if (answer.ok) return answer.data.cost_microdollars;
    await new Promise((resolve) => setTimeout(resolve, LOG_POLL_MS));
  }
  return null;
}

function callProxy(session: Session, provider: Provider, key: string | null): Promise<Response> {
  const { path, headers } = FREE_CALLS[provider];
  const signal = AbortSignal.any([session.host.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]);
  return fetch(`${session.proxyUrl}/v1/proxy/${provider}${path}`, {
    headers: { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) },
    redirect: 'error',
    signal,
  });
}
