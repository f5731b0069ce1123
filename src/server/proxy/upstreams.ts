import { Pool } from 'undici';
import { PROVIDERS, type Provider } from '../../contract/providers.ts';

const MAX_CONNECTIONS_PER_PROVIDER = 4_096;
const CONNECT_TIMEOUT_MS = 10_000;
/** Shorter than any server's own, so that we rarely write to a connection that is just being closed. */
const KEEP_ALIVE_MS = 4_000;
const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

/** A provider's fixed address. Nothing a request says can change where it goes. */
export interface Upstream {
  pool: Pool;
  /** In front of every path; no slash at its end. */
  basePath: string;
}

export type Upstreams = Record<Provider, Upstream>;

export function openUpstreams(urls: Record<Provider, string>, firstByteTimeoutMs: number): Upstreams {
  const open = (provider: Provider): [Provider, Upstream] => {
    const url = new URL(urls[provider]);
    const pool = new Pool(url.origin, {
      connections: MAX_CONNECTIONS_PER_PROVIDER,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: firstByteTimeoutMs,
      bodyTimeout: firstByteTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    });
    return [provider, { pool, basePath: url.pathname.replace(/\/+$/, '') }];
  };
  return Object.fromEntries(PROVIDERS.map(open)) as Upstreams;
}

export async function closeUpstreams(upstreams: Upstreams): Promise<void> {
  await Promise.all(Object.values(upstreams).map(({ pool }) => pool.destroy()));
}
