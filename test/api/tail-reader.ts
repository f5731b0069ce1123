import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 20_000;

export interface Received {
  id: string | null;
  event: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  data: any;
}

export interface TailReader {
  status: number;
  headers: Headers;
  received: Received[];
  /** The plain messages of one type. */
  of(type: string): Received[];
  /** Waits until so many messages of a type are there. */
  until(type: string, count: number): Promise<Received[]>;
  lastId(): string;
  /** Settled when the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

/** A client that reads the live tail as fast as it comes. */
export async function openTail(
  apiUrl: string,
  token: string,
  options: { query?: string; lastEventId?: string } = {},
): Promise<TailReader> {
  const stopping = new AbortController();
  const response = await fetch(`${apiUrl}/v1/stream/tail${options.query ?? ''}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
    },
    signal: stopping.signal,
  });
  const received: Received[] = [];
  const ended = read(response, received).catch(() => undefined);
  const of = (type: string) => received.filter(({ data }) => data.type === type);
  return {
    status: response.status,
    headers: response.headers,
    received,
    of,
    ended,
    lastId: () => received.findLast(({ id }) => id !== null)!.id!,
    async until(type, count) {
      const end = Date.now() + PATIENCE_MS;
      while (of(type).length < count) {
        if (Date.now() > end) throw new Error(`${of(type).length} of ${count} messages of type ${type} came`);
        await sleep(20);
      }
      return of(type);
    },
    close: () => stopping.abort(),
  };
}

async function read(response: Response, received: Received[]): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body!) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) received.push(parse(block));
  }
}

function parse(block: string): Received {
  const field = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? null;
  return { id: field('id'), event: field('event'), data: JSON.parse(field('data')!) };
}
