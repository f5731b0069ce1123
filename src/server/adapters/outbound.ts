import { lookup as lookupByHost, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { isLoopbackAddress, isPublicAddress } from './public-address.ts';

const TOTAL_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const DNS_TRY_MS = 3_000;
const DNS_TRIES = 2;
const NOT_PUBLIC = 'The address is not on the public internet.';

/** What came of one message; nothing of it is thrown. */
export type OutboundResult =
  | { kind: 'answered'; statusCode: number; bodyStart: string; durationMs: number }
  | { kind: 'failed'; reason: string; durationMs: number };

/** Sends messages to addresses that strangers chose, without letting them reach anything that is not public. */
export interface Outbound {
  /** What is wrong with an address as it is written; null when it may be tried. Any port is allowed. */
  problemWith(url: string): string | null;
  /** Follows no redirect, and uses each connection once: no stranger's message travels on another's. */
  post(message: Message): Promise<OutboundResult>;
}

interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Ends the attempt early. */
  signal?: AbortSignal;
}

export interface OutboundOptions {
  /** For development: plain http, private addresses, and self-signed certificates on loopback. */
  allowPrivate: boolean;
  /** All addresses of a name. Asked anew for every message, and what it answers is what is checked and dialled. */
  resolve?: (hostname: string) => Promise<string[]>;
  /** For the whole exchange, from the name to the answer. */
  timeoutMs?: number;
}

export function openOutbound(options: OutboundOptions): Outbound {
  const { allowPrivate, timeoutMs = TOTAL_TIMEOUT_MS } = options;
  const resolve = options.resolve ?? (allowPrivate ? resolveByHost : resolveByDns);
  const mayDial = (address: string) => allowPrivate || isPublicAddress(address);
  const problemWith = (text: string) => problemWithUrl(text, allowPrivate);
  return {
    problemWith,
    post: async (message) => {
      const problem = problemWith(message.url);
      if (problem !== null) return { kind: 'failed', reason: problem, durationMs: 0 };
      const url = new URL(message.url);
      const connect = guardedConnect(url, resolve, mayDial, allowPrivate);
      return exchange(new Client(url.origin, { connect }), url, message, timeoutMs);
    },
  };
}

async function exchange(
  client: Client,
  url: URL,
  { headers, body, signal }: Message,
  timeoutMs: number,
): Promise<OutboundResult> {
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  let isLate = false;
  // Ends whatever stage it is at; an abort signal is not heard before there is a connection.
  const halt = () => void client.destroy().catch(() => undefined);
  const timer = setTimeout(() => {
    isLate = true;
    halt();
  }, timeoutMs);
  signal?.addEventListener('abort', halt, { once: true });
  if (signal?.aborted) halt();
  try {
    const answer = await client.request({
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const bodyStart = await readStart(answer.body);
    return { kind: 'answered', statusCode: answer.statusCode, bodyStart, durationMs: durationMs() };
  } catch (error) {
    const reason = isLate ? `No answer within ${timeoutMs / 1000} seconds.` : explain(error as FaultWithCode);
    return { kind: 'failed', reason, durationMs: durationMs() };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', halt);
    halt();
  }
}

function problemWithUrl(text: string, allowPrivate: boolean): string | null {
  // The parser drops line breaks and blanks silently; an address that is read otherwise than written is refused.
  if (/[\s\p{C}\\]/u.test(text) || !URL.canParse(text)) return 'This is not a web address.';
  const url = new URL(text);
  const schemes = allowPrivate ? ['https:', 'http:'] : ['https:'];
  if (!schemes.includes(url.protocol) || !/^https?:\/\//i.test(text))
    return 'The address must begin with https://.';
  if (url.username !== '' || url.password !== '') return 'The address must not contain a user or a password.';
  if (url.port === '0') return 'The address has a port that cannot be reached.';
  if (allowPrivate) return null;
  // Decimal, octal, hexadecimal and shortened spellings of an IP address are plain ones after parsing.
  const host = hostOf(url);
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : NOT_PUBLIC;
  return host === 'localhost' || host.endsWith('.localhost') ? NOT_PUBLIC : null;
}

/** Without the brackets of IPv6 and the dot that ends a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/**
 * Dials only addresses that were checked: the resolver's answer is filtered and then used itself, so a name
 * that points elsewhere a moment later does not matter. What was dialled is looked at once more.
 */
function guardedConnect(
  url: URL,
  resolve: (hostname: string) => Promise<string[]>,
  mayDial: (address: string) => boolean,
  allowPrivate: boolean,
): buildConnector.connector {
  const host = hostOf(url);
  const lookup: LookupFunction = (_hostname, lookupOptions, done) => {
    resolve(host).then(
      (found) => {
        const open = found.filter(mayDial).map((address) => ({ address, family: isIP(address) }));
        if (open[0] === undefined) {
          done(
            Object.assign(new Error(NOT_PUBLIC), { code: found.length > 0 ? 'NOT_PUBLIC' : 'ENOTFOUND' }),
            '',
          );
        } else if (lookupOptions.all) done(null, open);
        else done(null, open[0].address, open[0].family);
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    );
  };
  const trustAnyone = allowPrivate && (host === 'localhost' || isLoopbackAddress(host));
  const connect = buildConnector({
    lookup,
    timeout: TOTAL_TIMEOUT_MS,
    maxCachedSessions: 0,
    rejectUnauthorized: !trustAnyone,
  });
  return (connectOptions, callback) =>
    connect(connectOptions, (...outcome) => {
      const socket = outcome[1];
      if (socket && !mayDial(socket.remoteAddress ?? '')) {
        socket.destroy();
        callback(Object.assign(new Error(NOT_PUBLIC), { code: 'NOT_PUBLIC' }), null);
      } else callback(...outcome);
    });
}

/** Never through the thread pool: names that take long would hold up everything else that uses it. */
async function resolveByDns(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0 && answers[0].status === 'rejected') throw answers[0].reason;
  return found;
}

/** Knows the machine's own names too. */
async function resolveByHost(hostname: string): Promise<string[]> {
  return (await lookupByHost(hostname, { all: true })).map(({ address }) => address);
}

/** The status decides; how the body ends does not matter, and no more of it is taken than anyone will read. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, MAX_ANSWER_BYTES - bytes));
      bytes += chunk.length;
      if (bytes >= MAX_ANSWER_BYTES) break;
    }
  } catch {
    // Cut off or out of time.
  }
  return Buffer.concat(chunks).toString();
}

type FaultWithCode = { code?: string; message?: string; name?: string };

function explain(error: FaultWithCode): string {
  switch (error.code) {
    case 'NOT_PUBLIC':
      return NOT_PUBLIC;
    case 'ENOTFOUND':
    case 'ENODATA':
    case 'ESERVFAIL':
    case 'EAI_AGAIN':
      return `The name could not be resolved (${error.code}).`;
    case 'ECONNREFUSED':
      return 'The connection was refused.';
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'The connection was not accepted in time.';
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
      return 'The connection was closed without an answer.';
    default:
      return `The connection failed (${error.code ?? error.name ?? 'unknown'}).`;
  }
}
