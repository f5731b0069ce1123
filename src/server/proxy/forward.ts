import type { ServerResponse } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { downstreamHeaders } from './headers.ts';
import type { ResponseHead, UsageReader } from './providers/index.ts';
import type { Upstream } from './upstreams.ts';

/** How long the last event of a stream may be kept back when the upstream does not close after it. */
const MAX_HELD_MS = 1_000;

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
  openReader: (status: number, head: ResponseHead) => UsageReader;
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
    const passage = new Passage(options, resolve);
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
  #held: Buffer[] = [];
  #holding = false;
  #heldTimer: NodeJS.Timeout | null = null;
  #trailers: string[] = [];
  #clientLeft = false;

  constructor(options: PassageOptions, resolve: (exchange: Exchange) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#client = options.client;
    this.#client.on('close', () => this.#onClientClose());
    this.#client.on('drain', () => this.#resume());
    if (this.#client.destroyed) this.#clientLeft = true;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#clientLeft && !this.#options.drainOnAbort) abort();
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200) {
      if (status === 103) this.#passEarlyHints(rawHeaders);
      return true;
    }
    this.#resume = resume;
    this.#status = status;
    this.#firstByteAtMs = performance.now();
    const headers = downstreamHeaders(rawHeaders, this.#options.providerKey, this.#options.requestId);
    const head = headLookup(headers);
    this.#reader = this.#options.openReader(status, head);
    const length = head.get('content-length');
    if (length !== undefined && /^\d+$/.test(length)) this.#bytesLeft = Number(length);
    if (this.#clientLeft) return true;
    this.#client.sendDate = head.get('date') === undefined;
    this.#client.writeHead(status, statusText, headers);
    // Of unknown length means a stream: its reader wants to know at once that it has begun.
    if (length === undefined) this.#client.flushHeaders();
    return true;
  }

  onData(chunk: Buffer): boolean {
    const reader = this.#reader!;
    reader.push(chunk);
    this.#bytesLeft -= chunk.length;
    if (this.#clientLeft) return true;
    if (this.#holding || this.#bytesLeft <= 0 || reader.streamEnded()) {
      this.#hold(chunk);
      return true;
    }
    return this.#client.write(chunk);
  }

  onComplete(rawTrailers: unknown): void {
    this.#trailers = Array.isArray(rawTrailers) ? rawTrailers.map(String) : [];
    this.#conclude('complete');
  }

  onError(error: Error): void {
    if (this.#reader) return this.#conclude(this.#clientLeft ? 'client_left' : 'cut');
    const timedOut = error instanceof errors.HeadersTimeoutError;
    const why = this.#clientLeft ? 'client_left' : timedOut ? 'timeout' : 'unreachable';
    this.#resolve({ kind: 'failed', why, reached: this.#abort !== null });
  }

  /** These bytes would let the client take the response for complete before its record is on disk. */
  #hold(chunk: Buffer): void {
    this.#holding = true;
    this.#held.push(chunk);
    this.#heldTimer ??= setTimeout(() => {
      this.#holding = false;
      this.#flushHeld();
    }, MAX_HELD_MS);
  }

  #flushHeld(): void {
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    this.#heldTimer = null;
    for (const chunk of this.#held.splice(0)) if (!this.#clientLeft) this.#client.write(chunk);
  }

  #conclude(ended: 'complete' | 'cut' | 'client_left'): void {
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    this.#heldTimer = null;
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
    if (this.#options.drainOnAbort) this.#resume();
    else this.#abort?.();
  }

  #passEarlyHints(rawHeaders: Buffer[]): void {
    if (this.#clientLeft) return;
    const headers = downstreamHeaders(rawHeaders, this.#options.providerKey, this.#options.requestId);
    const link = headLookup(headers).get('link');
    if (link) this.#client.writeEarlyHints({ link });
  }
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
