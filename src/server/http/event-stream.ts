import { Readable } from 'node:stream';
import type { EventMessage, EventReader, EventStream } from '../api/handler.ts';

/** More than this may not wait for a reader when something new comes for it. */
const MAX_WAITING_BYTES = 1024 * 1024;
const HIGH_WATER_BYTES = 64 * 1024;
/** A reader that was ended may take what waits for it for so long; then its connection is cut. */
const END_PATIENCE_MS = 30_000;
const OVERFLOW: EventMessage = {
  event: 'overflow',
  data: JSON.stringify({
    type: 'overflow',
    message: 'Events came faster than you read them. Connect again with the id of the last one you saw.',
  }),
};

/** The stream as bytes, for a reader with a bound on what it leaves lying. */
export function openEventStream(
  stream: EventStream,
  client: { lastEventId: string | null; stillProved: () => Promise<boolean> },
): Readable {
  let tellDrained = () => {};
  let ended = false;
  const bytes = new Readable({ highWaterMark: HIGH_WATER_BYTES, read: () => tellDrained() });
  const goneListeners: Array<() => void> = [];
  const end = (last = '') => {
    if (ended) return;
    ended = true;
    if (last !== '') bytes.push(last);
    bytes.push(null);
    tellDrained();
    setTimeout(() => bytes.destroy(), END_PATIENCE_MS).unref();
  };
  bytes.once('close', () => {
    ended = true;
    tellDrained();
    for (const listener of goneListeners) listener();
  });
  const reader: EventReader = {
    lastEventId: client.lastEventId,
    get ended() {
      return ended;
    },
    send(messages) {
      if (ended) return;
      if (bytes.readableLength > MAX_WAITING_BYTES) end(encode(OVERFLOW));
      else bytes.push(messages.map(encode).join(''));
    },
    async drained() {
      while (!ended && bytes.readableLength >= HIGH_WATER_BYTES) {
        await new Promise<void>((resolve) => {
          tellDrained = resolve;
        });
      }
    },
    stillProved: client.stillProved,
    end: () => end(),
    onGone: (listener) => goneListeners.push(listener),
  };
  stream.feed(reader);
  return bytes;
}

function encode({ id, event, data }: EventMessage): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  const eventLine = event === undefined ? '' : `event: ${event}\n`;
  return `${idLine}${eventLine}data: ${data}\n\n`;
}
