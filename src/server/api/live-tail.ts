import { type Refusal, refuse } from '../../contract/errors.ts';
import { TAIL_HEARTBEAT_SECONDS, TAIL_RESUME_EVENTS, type TailEvent } from '../../contract/stream.ts';
import type { Logger } from '../adapters/log.ts';
import { isWanted, showTailed, startOfTail, type TailFilter } from '../domain/tail.ts';
import type { Database } from '../store/database.ts';
import { findTailHead, listTailEvents, type PlacedEvent } from '../store/tail.ts';
import type { EventMessage, EventReader, EventStream } from './handler.ts';

/**
 * How late an event of another node may be. Looking is what makes the tail certain, so it is also what carries
 * it to other nodes: a NOTIFY with every batch would make all commits of the database wait for one another.
 */
const LOOK_EVERY_MS = 250;
const RETRY_AFTER_MS = 1_000;
/** Read of one tenant at a time; a burst comes in several such pages. */
const PAGE_EVENTS = 500;
const MAX_READERS_PER_TENANT = 100;
const MAX_READERS = 2_000;

/** One reader of one tenant's tail. */
interface Seat {
  tenantId: string;
  filter: TailFilter;
  reader: EventReader;
  /** The last position it was told of, wanted or not. */
  position: number;
}

/** One tenant's tail as far as this node has read it, and those it is told to. */
interface Channel {
  position: number;
  live: Set<Seat>;
  /** Those who still catch up included: the channel goes with the last of them. */
  members: number;
}

/** An event as it is sent, made once for all its readers. */
type Outgoing = PlacedEvent & { message: EventMessage };

/**
 * Tells the readers of this node what is on the tails of their tenants. There is one source, the database: an
 * event of this node is read back like one of any other, in the one order that every node sees. A reader that
 * resumes reads by itself up to where this node is, and joins there.
 */
export class LiveTail {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #seatsTaken = new Map<string, number>();
  readonly #readers = new Set<EventReader>();
  readonly #channels = new Map<string, Channel>();
  #timer: NodeJS.Timeout | null = null;
  #looking = false;
  #lookAgain = false;
  #stopped = false;

  constructor(parts: { database: Database; log: Logger }) {
    this.#database = parts.database;
    this.#log = parts.log;
  }

  open(tenantId: string, filter: TailFilter): EventStream | Refusal {
    if (this.#stopped || this.#readers.size >= MAX_READERS) return refuse('unavailable');
    const taken = this.#seatsTaken.get(tenantId) ?? 0;
    if (taken >= MAX_READERS_PER_TENANT) return refuse('too_many_readers');
    this.#seatsTaken.set(tenantId, taken + 1);
    return { kind: 'sse', feed: (reader) => this.#seat({ tenantId, filter, reader, position: 0 }) };
  }

  /** Something was written by this node: look at once instead of in a moment. */
  nudge(): void {
    this.#schedule(0);
  }

  /** Ends every reader, so that the server that holds their connections can close. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    for (const reader of this.#readers) reader.end();
  }

  #seat(seat: Seat): void {
    const { reader, tenantId } = seat;
    this.#readers.add(reader);
    const heartbeat = setInterval(() => this.#beat(seat), TAIL_HEARTBEAT_SECONDS * 1000);
    reader.onGone(() => {
      clearInterval(heartbeat);
      this.#readers.delete(reader);
      const left = (this.#seatsTaken.get(tenantId) ?? 1) - 1;
      if (left > 0) this.#seatsTaken.set(tenantId, left);
      else this.#seatsTaken.delete(tenantId);
    });
    this.#join(seat).catch((error: unknown) => {
      // The reader comes again by itself, and resumes where it was.
      this.#log.debug({ err: error }, 'a reader of the live tail could not be served');
      reader.end();
    });
  }

  async #join(seat: Seat): Promise<void> {
    const { reader, tenantId } = seat;
    const head = await this.#database.asTenant(tenantId, (db) => findTailHead(db, tenantId));
    if (reader.ended) return;
    const channel = this.#enterChannel(seat, head);
    const start = startOfTail(reader.lastEventId, head, TAIL_RESUME_EVENTS);
    seat.position = start.after;
    if (start.missed > 0) reader.send([gap(start)]);
    // Its id is what a reader resumes after that is cut before its first event.
    reader.send([heartbeatAt(seat.position)]);
    while (seat.position < channel.position && !reader.ended) {
      const page = await this.#readPage(seat, channel.position);
      this.#tell(seat, page);
      await reader.drained();
    }
    if (!reader.ended) channel.live.add(seat);
  }

  #enterChannel(seat: Seat, head: number): Channel {
    const { tenantId } = seat;
    const channel = this.#channels.get(tenantId) ?? { position: head, live: new Set(), members: 0 };
    this.#channels.set(tenantId, channel);
    channel.members += 1;
    seat.reader.onGone(() => {
      channel.live.delete(seat);
      channel.members -= 1;
      if (channel.members === 0) this.#channels.delete(tenantId);
    });
    this.#schedule(LOOK_EVERY_MS);
    return channel;
  }

  async #readPage(seat: Seat, until: number): Promise<Outgoing[]> {
    const cursor = { tenantId: seat.tenantId, after: seat.position };
    const events = await this.#database.asTenant(seat.tenantId, (db) =>
      listTailEvents(db, [cursor], PAGE_EVENTS),
    );
    // Nothing left in the log of what was asked for.
    if (events.length === 0) seat.position = until;
    return events.map(outgoing);
  }

  #tell(seat: Seat, events: readonly Outgoing[]): void {
    const wanted = events.filter((event) => event.position > seat.position && isWanted(seat.filter, event));
    seat.position = Math.max(seat.position, events.at(-1)?.position ?? 0);
    if (wanted.length > 0) seat.reader.send(wanted.map((event) => event.message));
  }

  #beat(seat: Seat): void {
    seat.reader.send([heartbeatAt(seat.position)]);
    seat.reader.stillProved().then(
      (proved) => proved || seat.reader.end(),
      // A database that is away is no reason to send anybody off.
      (error: unknown) => this.#log.debug({ err: error }, 'could not look at a reader’s token'),
    );
  }

  #schedule(afterMs: number): void {
    if (this.#stopped || this.#channels.size === 0) return;
    if (this.#looking) {
      this.#lookAgain ||= afterMs === 0;
      return;
    }
    if (this.#timer && afterMs > 0) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), afterMs);
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#looking = true;
    this.#lookAgain = false;
    let nextMs = LOOK_EVERY_MS;
    try {
      if (await this.#readOn()) nextMs = 0;
    } catch (error) {
      this.#log.debug({ err: error }, 'the live tail could not be read; trying again');
      nextMs = RETRY_AFTER_MS;
    }
    this.#looking = false;
    this.#schedule(this.#lookAgain ? 0 : nextMs);
  }

  /** True when there may be more to read already. */
  async #readOn(): Promise<boolean> {
    const cursors = [...this.#channels].map(([tenantId, { position }]) => ({ tenantId, after: position }));
    const events = await this.#database.asSystem((db) => listTailEvents(db, cursors, PAGE_EVENTS));
    const byTenant = new Map<string, Outgoing[]>(cursors.map(({ tenantId }) => [tenantId, []]));
    for (const event of events) byTenant.get(event.tenantId)!.push(outgoing(event));
    let isFull = false;
    for (const [tenantId, own] of byTenant) {
      isFull ||= own.length >= PAGE_EVENTS;
      const channel = this.#channels.get(tenantId);
      if (channel && own.length > 0) this.#publish(channel, own);
    }
    return isFull;
  }

  #publish(channel: Channel, events: readonly Outgoing[]): void {
    const missed = events[0]!.position - channel.position - 1;
    channel.position = events.at(-1)!.position;
    for (const seat of channel.live) {
      if (missed > 0) seat.reader.send([gap({ after: seat.position, missed })]);
      this.#tell(seat, events);
    }
  }
}

function outgoing(event: PlacedEvent): Outgoing {
  return { ...event, message: messageOf(event.position, showTailed(event)) };
}

function messageOf(position: number, event: TailEvent): EventMessage {
  return { id: String(position), data: JSON.stringify(event) };
}

function heartbeatAt(position: number): EventMessage {
  return messageOf(position, { type: 'heartbeat' });
}

function gap({ after, missed }: { after: number; missed: number }): EventMessage {
  return { ...messageOf(after, { type: 'gap', missed }), event: 'gap' };
}
