import { get, type IncomingMessage } from 'node:http';
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
  headers: IncomingMessage['headers'];
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
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
    };
    // A connection of its own: one that fetch opens and then has no use for holds up a server that stops.
    get(`${apiUrl}/v1/stream/tail${options.query ?? ''}`, { agent: false, headers }, resolve).on(
      'error',
      reject,
    );
  });
  const received: Received[] = [];
  const ended = read(response, received).catch(() => undefined);
  const of = (type: string) => received.filter(({ data }) => data.type === type);
  return {
    status: response.statusCode!,
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
    close: () => response.destroy(),
  };
}

async function read(response: IncomingMessage, received: Received[]): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response) {
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
