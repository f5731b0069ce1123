import type { ServerResponse } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { downstreamHeaders } from './headers.ts';
import type { ResponseHead, UsageReader } from './providers/index.ts';
import type { Upstream } from './upstreams.ts';

/** How long the last event of a stream may be kept back when the upstream does not close after it. */
const MAX_HELD_MS = 1_000;
/** More than this may not wait for the unpacking; the provider is slowed down. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** More than this after the last event is no end of a stream; it goes on at the client's pace. */
const MAX_HELD_BYTES = 1024 * 1024;

export interface Outgoing {
  method: string;
  /** After the upstream's base path, query included. */
  path: string;
  headers: string[];
  body: Buffer;
}

export interface PassageOptions {
  client: ServerResponse;
  requestId: string;
  /** Kept out of every header that goes back. */
  providerKey: string;
  /** Read on to the final usage when the client leaves, instead of hanging up on the provider. */
  drainOnAbort: boolean;
  openReader: (status: number, head: ResponseHead, onCaughtUp: () => void) => UsageReader;
}

export type Exchange =
  | {
      kind: 'answered';
      status: number;
      firstByteAtMs: number;
      reader: UsageReader;
      /** `cut`: the provider broke off. `client_left`: the caller did. */
      ended: 'complete' | 'cut' | 'client_left';
      /** Sends what was kept back and ends the client's response. */
      complete: () => void;
      /** Breaks the client's connection off, so that it cannot take what it has for the whole. */
      breakOff: () => void;
    }
  | { kind: 'failed'; why: 'unreachable' | 'timeout' | 'client_left'; reached: boolean };

/**
 * Sends a request to its provider and passes the answer on, byte for byte and at the client's pace, up to but
 * not including its end: the caller decides when the client may see it complete.
 */
export function forward(upstream: Upstream, outgoing: Outgoing, options: PassageOptions): Promise<Exchange> {
  return new Promise((resolve) => {
    const passage = new Passage(outgoing.method, options, resolve);
    upstream.pool.dispatch(
      {
        method: outgoing.method as Dispatcher.HttpMethod,
        path: upstream.basePath + outgoing.path || '/',
        headers: outgoing.headers,
        body: outgoing.body.length > 0 ? outgoing.body : null,
      },
      passage,
    );
  });
}

class Passage implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #options: PassageOptions;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #client: ServerResponse;
  #abort: ((error?: Error) => void) | null = null;
  #resume: () => void = () => {};
  #reader: UsageReader | null = null;
  #status = 0;
  #firstByteAtMs = 0;
  /** Bytes of the body still to come, where the provider said how many there are. */
  #bytesLeft = Number.POSITIVE_INFINITY;
  /** What the reader, still unpacking, has not seen all of: nobody knows yet whether it is the end. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #heldTimer: NodeJS.Timeout | null = null;
  #trailers: string[] = [];
  #clientLeft = false;
  /** The provider may have seen something of the request. */
  #reached = false;

  constructor(method: string, options: PassageOptions, resolve: (exchange: Exchange) => void) {
    this.#method = method;
    this.#options = options;
    this.#resolve = resolve;
    this.#client = options.client;
    this.#client.on('close', () => this.#onClientClose());
    this.#client.on('drain', () => this.#resume());
    if (this.#client.destroyed) this.#clientLeft = true;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    // Nothing has been sent yet, so there is nothing to read to its end either.
    if (this.#clientLeft) return abort();
    this.#reached = true;
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200) {
      this.#passInformation(status, rawHeaders, statusText);
      return true;
    }
    this.#resume = resume;
    this.#status = status;
    this.#firstByteAtMs = performance.now();
    const headers = downstreamHeaders(rawHeaders, this.#options.providerKey, this.#options.requestId);
    const head = headLookup(headers);
    this.#reader = this.#options.openReader(status, head, () => this.#onCaughtUp());
    const length = head.get('content-length');
    if (length !== undefined && /^\d+$/.test(length)) this.#bytesLeft = Number(length);
    if (this.#clientLeft) return true;
    this.#client.sendDate = head.get('date') === undefined;
    this.#client.writeHead(status, reasonPhrase(statusText), headers);
    // Of unknown length means a stream: its reader wants to know at once that it has begun. Where there is no
    // body the head is the whole response, and waits for its record.
    if (length === undefined && hasBody(this.#method, status)) this.#client.flushHeaders();
    return true;
  }

  onData(chunk: Buffer): boolean {
    const reader = this.#reader!;
    reader.push(chunk);
    this.#bytesLeft -= chunk.length;
    if (this.#clientLeft) return true;
    if (reader.caughtUp() && this.#unread.length === 0) return this.#pass(chunk);
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    return this.#unreadBytes <= MAX_UNREAD_BYTES;
  }

  #onCaughtUp(): void {
    if (this.#unread.length === 0) return;
    this.#unreadBytes = 0;
    let goesOn = true;
    for (const chunk of this.#unread.splice(0)) if (!this.#clientLeft) goesOn = this.#pass(chunk);
    if (goesOn) this.#resume();
  }

  /** False when the client should first take what it has been sent. */
  #pass(chunk: Buffer): boolean {
    const isLast = this.#held.length > 0 || this.#bytesLeft <= 0 || this.#reader!.streamEnded();
    if (!isLast) return this.#client.write(chunk);
    this.#hold(chunk);
    return this.#heldBytes <= MAX_HELD_BYTES || this.#flushHeld();
  }

  onComplete(rawTrailers: unknown): void {
    this.#trailers = Array.isArray(rawTrailers) ? rawTrailers.map(latin1) : [];
    this.#conclude('complete');
  }

  onError(error: Error): void {
    if (this.#reader) return this.#conclude(this.#clientLeft ? 'client_left' : 'cut');
    const timedOut = error instanceof errors.HeadersTimeoutError;
    const why = this.#clientLeft ? 'client_left' : timedOut ? 'timeout' : 'unreachable';
    this.#resolve({ kind: 'failed', why, reached: this.#reached });
  }

  /** These bytes would let the client take the response for complete before its record is on disk. */
  #hold(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    // Where the whole body is here, its end comes with it.
    if (this.#bytesLeft > 0) this.#heldTimer ??= setTimeout(() => this.#flushHeld(), MAX_HELD_MS);
  }

  /** False when the client should first take what it has been sent. */
  #flushHeld(): boolean {
    this.#stopHolding();
    let goesOn = true;
    for (const chunk of this.#held.splice(0)) if (!this.#clientLeft) goesOn = this.#client.write(chunk);
    return goesOn;
  }

  #stopHolding(): void {
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    this.#heldTimer = null;
    this.#heldBytes = 0;
  }

  #conclude(ended: 'complete' | 'cut' | 'client_left'): void {
    this.#stopHolding();
    this.#held.push(...this.#unread.splice(0));
    this.#resolve({
      kind: 'answered',
      status: this.#status,
      firstByteAtMs: this.#firstByteAtMs,
      reader: this.#reader!,
      ended: this.#clientLeft ? 'client_left' : ended,
      complete: () => this.#complete(),
      breakOff: () => this.#client.destroy(),
    });
  }

  #complete(): void {
    if (this.#clientLeft) return;
    const last = this.#held.length > 1 ? Buffer.concat(this.#held.splice(0)) : this.#held.pop();
    if (this.#trailers.length > 0) this.#client.addTrailers(pairsOf(this.#trailers));
    if (last) this.#client.end(last);
    else this.#client.end();
  }

  #onClientClose(): void {
    if (this.#client.writableFinished) return;
    this.#clientLeft = true;
    this.#held = [];
    this.#unread = [];
    if (this.#options.drainOnAbort) this.#resume();
    else this.#abort?.();
  }

  /** Written past the response object, which knows of few of them and would refuse some. */
  #passInformation(status: number, rawHeaders: Buffer[], statusText: string): void {
    if (this.#clientLeft || this.#client.req.httpVersion !== '1.1') return;
    const headers = downstreamHeaders(rawHeaders, this.#options.providerKey, this.#options.requestId);
    const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${reasonPhrase(statusText)}\r\n${lines.join('')}\r\n`;
    this.#client.socket?.write(head, 'latin1');
  }
}

function hasBody(method: string, status: number): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304;
}

/** undici reads it as UTF-8, node writes it as latin1: the bytes are to be those that came. */
function reasonPhrase(statusText: string): string {
  return Buffer.from(statusText, 'utf8').toString('latin1');
}

function latin1(part: unknown): string {
  return Buffer.isBuffer(part) ? part.toString('latin1') : String(part);
}

function headLookup(headers: readonly string[]): ResponseHead {
  const get = (name: string): string | undefined => {
    for (let index = 0; index < headers.length; index += 2) {
      if (headers[index]!.length === name.length && headers[index]!.toLowerCase() === name)
        return headers[index + 1];
    }
    return undefined;
  };
  return { contentType: get('content-type'), contentEncoding: get('content-encoding'), get };
}

function pairsOf(flat: readonly string[]): Array<[string, string]> {
  const pairs: Array<[string, string]> = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push([flat[index]!, flat[index + 1]!]);
  return pairs;
}
