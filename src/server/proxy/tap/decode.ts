import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/** A response that unpacks to more than this is no longer read; it still reaches the client untouched. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
/** Packed bytes that may wait for the decompressor; beyond, the meter gives up instead of growing. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

const ENCODINGS = ['gzip', 'x-gzip', 'deflate', 'br', 'identity'];

/**
 * Narrows what a client accepts to what the meter can read, so that an upstream never answers in an encoding
 * that would hide its usage. Nothing is added: without an offer of the client's own the answer is `identity`.
 */
export function readableEncodings(acceptEncoding: string | undefined): string {
  const kept = (acceptEncoding ?? '')
    .split(',')
    .map((offer) => offer.trim())
    .filter((offer) => ENCODINGS.includes(codingOf(offer)));
  return kept.length === 0 ? 'identity' : kept.join(', ');
}

function codingOf(offer: string): string {
  return (offer.split(';')[0] ?? '').trim().toLowerCase();
}

export interface Decoder {
  /** Never throws; bytes after a fault are ignored. */
  push(bytes: Buffer): void;
  /** Everything pushed so far has been handed on, or will never be. */
  caughtUp(): boolean;
  /** Resolves when everything pushed has been handed on, with the reason reading stopped early, if it did. */
  finish(): Promise<string | null>;
}

/** A decoder for a Content-Encoding, or null when the meter cannot read it (zstd, stacked encodings). */
export function openDecoder(
  contentEncoding: string | undefined,
  onBytes: (bytes: Buffer) => void,
  onCaughtUp: () => void = () => {},
): Decoder | null {
  const coding = codingOf(contentEncoding ?? 'identity');
  switch (coding) {
    case '':
    case 'identity':
      return { push: onBytes, caughtUp: () => true, finish: () => Promise.resolve(null) };
    case 'gzip':
    case 'x-gzip':
      return unpack(() => createGunzip(ZLIB_OPTIONS), onBytes, onCaughtUp);
    case 'deflate':
      // The name covers two formats; a zlib header has 8 in the low half of its first byte.
      return unpack(
        (first) => ((first & 0x0f) === 8 ? createInflate(ZLIB_OPTIONS) : createInflateRaw(ZLIB_OPTIONS)),
        onBytes,
        onCaughtUp,
      );
    case 'br':
      return unpack(() => createBrotliDecompress(BROTLI_OPTIONS), onBytes, onCaughtUp);
    default:
      return null;
  }
}

// Flushing hands on what is there after every piece, and takes a cut stream's tail without a fault.
const ZLIB_OPTIONS = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI_OPTIONS = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

type Unpacker = ReturnType<typeof createGunzip>;

function unpack(
  open: (firstByte: number) => Unpacker,
  onBytes: (bytes: Buffer) => void,
  onCaughtUp: () => void,
): Decoder {
  let piecesUnderWay = 0;
  let unpacker: Unpacker | null = null;
  let decodedBytes = 0;
  let fault: string | null = null;
  let settle: (() => void) | null = null;

  function stop(reason: string): void {
    fault ??= reason;
    unpacker?.destroy();
    settle?.();
    onCaughtUp();
  }

  function pieceDone(): void {
    piecesUnderWay -= 1;
    if (piecesUnderWay === 0 && fault === null) onCaughtUp();
  }

  function start(firstByte: number): Unpacker {
    const opened = open(firstByte);
    opened.on('data', (bytes: Buffer) => {
      if (fault !== null) return;
      decodedBytes += bytes.length;
      if (decodedBytes > MAX_DECODED_BYTES) stop('the unpacked response is too large to read');
      else onBytes(bytes);
    });
    opened.on('error', () => stop('the response could not be unpacked'));
    opened.on('close', () => settle?.());
    return opened;
  }

  return {
    push(bytes) {
      if (fault !== null || bytes.length === 0) return;
      unpacker ??= start(bytes[0]!);
      if (unpacker.writableEnded) return;
      if (unpacker.writableLength + bytes.length > MAX_WAITING_BYTES) {
        stop('the response came faster than it could be unpacked');
        return;
      }
      piecesUnderWay += 1;
      unpacker.write(bytes, pieceDone);
    },
    caughtUp: () => fault !== null || piecesUnderWay === 0,
    finish() {
      if (unpacker === null || fault !== null) return Promise.resolve(fault);
      const ending = unpacker;
      return new Promise((resolve) => {
        settle = () => resolve(fault);
        if (ending.destroyed) resolve(fault);
        else ending.end();
      });
    },
  };
}
