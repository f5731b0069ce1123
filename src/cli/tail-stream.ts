import { createParser } from 'eventsource-parser';
import { ClientFault, openClient } from '../client/client.ts';
import { TAIL_HEARTBEAT_SECONDS, type TailEvent } from '../contract/stream.ts';
import { Interrupted, Stop } from './exit.ts';
import type { Session } from './session.ts';

const RECONNECT_DELAYS_MS = [1_000, 3_000, 10_000];
export const MAX_RECONNECTS = RECONNECT_DELAYS_MS.length;
/** Three heartbeats that did not come: the connection is dead, whatever TCP believes. */
const SILENCE_MS = 3 * TAIL_HEARTBEAT_SECONDS * 1_000;

export interface TailFilters {
  team?: string;
  service?: string;
}

/** Follows the stream until Ctrl-C, over lost connections, without telling an event twice. */
export async function followTail(
  session: Session,
  filters: TailFilters,
  onEvent: (event: TailEvent) => void,
): Promise<never> {
  const { out, host } = session;
  let lastEventId: string | null = null;
  let reconnects = 0;
  for (;;) {
    try {
      const body = await openStream(session, filters, lastEventId);
      out.note(reconnects === 0 ? 'Connected. Ctrl-C ends it.' : 'Connected again.');
      await readStream(session, body, (event, id) => {
        reconnects = 0;
        lastEventId = id ?? lastEventId;
        onEvent(event);
      });
    } catch (error) {
      if (host.signal.aborted) throw new Interrupted();
      if (!(error instanceof ClientFault)) throw error;
    }
    const delayMs = RECONNECT_DELAYS_MS[reconnects];
    if (delayMs === undefined) {
      throw new Stop(
        'stream_lost',
        `The stream was lost and ${MAX_RECONNECTS} attempts did not bring it back.`,
        'gw status',
      );
    }
    reconnects += 1;
    out.warn(`The connection was lost; reconnecting (${reconnects} of ${MAX_RECONNECTS})`);
    await sleep(delayMs, host.signal);
  }
}

/** The stream's bytes; a refusal ends the command, except that a server on its way up or down is waited for. */
async function openStream(
  session: Session,
  filters: TailFilters,
  lastEventId: string | null,
): Promise<ReadableStream<Uint8Array>> {
  let opened: Response | null = null;
  // The client knows addresses, tokens and refusals but waits for whole bodies: a stream is taken out on the way.
  const keepOpen: typeof fetch = async (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set('accept', 'text/event-stream');
    if (lastEventId !== null) headers.set('last-event-id', lastEventId);
    const response = await fetch(url, { ...init, headers });
    if (!response.ok) return response;
    opened = response;
    return new Response(null, { status: 204 });
  };
  const client = openClient({ baseUrl: session.apiUrl, token: session.token(), fetch: keepOpen });
  const answer = await client.call('openTail', { query: filters, signal: session.host.signal });
  if (!answer.ok) {
    if (answer.status === 503) throw new ClientFault(answer.message);
    throw session.refuse(answer);
  }
  const response = opened as Response | null;
  if (!response?.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Stop(
      'not_a_stream',
      `${session.apiUrl} answered with something that is not a stream.`,
      'gw status',
    );
  }
  return response.body;
}

async function readStream(
  session: Session,
  body: ReadableStream<Uint8Array>,
  onEvent: (event: TailEvent, id: string | undefined) => void,
): Promise<void> {
  const parser = createParser({ onEvent: ({ data, id }) => onEvent(JSON.parse(data) as TailEvent, id) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  let watchdog = setTimeout(stop, SILENCE_MS);
  session.host.signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new ClientFault('the connection was cut', { cause: error });
      });
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, SILENCE_MS);
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(watchdog);
    session.host.signal.removeEventListener('abort', stop);
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Interrupted());
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}
