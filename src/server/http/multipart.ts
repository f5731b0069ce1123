import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { type Refusal, refuse } from '../../contract/errors.ts';
import type { UploadPart } from '../api/handler.ts';

const MAX_UPLOAD_BYTES = 256 * 1024 * 1024;
const MAX_FIELD_BYTES = 1024;
const MAX_PARTS = 16;
/** Above this many bytes in memory the client is made to wait. */
const FILE_BUFFER_BYTES = 256 * 1024;

/** Null when the body is no multipart/form-data. */
export function readMultipart(request: IncomingMessage): AsyncIterable<UploadPart> | null {
  const contentType = request.headers['content-type'] ?? '';
  return /^multipart\/form-data\s*;.*boundary=/i.test(contentType) ? partsOf(request) : null;
}

async function* partsOf(request: IncomingMessage): AsyncGenerator<UploadPart> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_UPLOAD_BYTES)
    throw refusing(refuse('payload_too_large'));
  const reader = new PartReader(request);
  try {
    for (;;) {
      const part = await reader.next();
      if (part === null) return;
      yield part;
      reader.skipRest();
    }
  } finally {
    reader.close();
  }
}

/** Turns the parser's events into a queue that is read one part at a time. */
class PartReader {
  readonly #request: IncomingMessage;
  readonly #parser: BusboyInstance;
  readonly #parts: UploadPart[] = [];
  #file: Readable | null = null;
  #ended = false;
  #failure: Error | null = null;
  #wake: () => void = () => {};

  constructor(request: IncomingMessage) {
    this.#request = request;
    try {
      this.#parser = new Busboy({
        headers: request.headers as BusboyHeaders,
        limits: { fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS, files: 1, fileSize: MAX_UPLOAD_BYTES },
        fileHwm: FILE_BUFFER_BYTES,
      });
    } catch (error) {
      throw refusing(refuse('bad_request'), error);
    }
    this.#parser.on('field', (name, value) => this.#add({ kind: 'field', name, value }));
    this.#parser.on('file', (name, stream, fileName) => {
      this.#file = stream;
      this.#add({ kind: 'file', name, fileName: fileName || null, bytes: bytesOf(stream) });
    });
    this.#parser.on('finish', () => {
      this.#ended = true;
      this.#wake();
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      this.#parser.on(limit, () =>
        this.#fail(refusing(refuse('bad_request', 'Send one file and two fields.'))),
      );
    }
    this.#parser.on('error', (error: unknown) => this.#fail(refusing(refuse('bad_request'), error)));
    request.on('close', this.#onClose);
    request.pipe(this.#parser);
  }

  /** Null at the end. */
  async next(): Promise<UploadPart | null> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const part = this.#parts.shift();
      if (part) return part;
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** A file that nobody read stands in the way of what comes after it. */
  skipRest(): void {
    this.#file?.resume();
  }

  /** What is left of the body is read and thrown away, so that the client gets to see its answer. */
  close(): void {
    this.#request.off('close', this.#onClose);
    this.#request.unpipe(this.#parser);
    this.#request.resume();
    this.#parser.on('error', () => {});
    this.#file?.on('error', () => {}).destroy();
  }

  readonly #onClose = () => {
    if (!this.#request.complete) this.#fail(refusing(refuse('bad_request', 'The upload broke off.')));
  };

  #add(part: UploadPart): void {
    this.#parts.push(part);
    this.#wake();
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    this.#file?.destroy(failure);
    this.#wake();
  }
}

async function* bytesOf(stream: BusboyFileStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) yield chunk as Buffer;
  if (stream.truncated) throw refusing(refuse('payload_too_large'));
}

/** The server answers a fault that carries a refusal with that refusal. */
function refusing(refusal: Refusal, cause?: unknown): Error {
  return Object.assign(new Error(refusal.body.message, { cause }), { refusal });
}
