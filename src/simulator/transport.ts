import type { ServerResponse } from 'node:http';
import { constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib';
import type { CallLog, RecordedCall } from './calls.ts';
import type { Frame, Reply, ReplyHeaders } from './reply.ts';
import type { SimRule } from './rule.ts';

const DEFAULT_REDIRECT = 'http://redirect.invalid/';
const MISSING_CONTENT_LENGTH_BYTES = 16;
const GARBAGE = [
  'data: {"choices":[{"delta":{"content":"cut\n\n',
  ': \u0000\u0001\u0002 comment\n\n',
  'data:\n\n',
  'event: nonsense\ndata: [1,2\n\n',
  'no colon at all\n\n',
  '\ufeffdata: "usage"\n\n',
];

/** One answer under way: where it goes, who waits for it, what is written about it. */
export interface Exchange {
  readonly response: ServerResponse;
  readonly call: RecordedCall;
  readonly log: CallLog;
  readonly held: Set<() => void>;
  readonly acceptEncoding: string;
}

export async function sendReply(exchange: Exchange, reply: Reply, rule: SimRule): Promise<void> {
  if (rule.delayMs) await pause(exchange, rule.delayMs);
  if (rule.fault === 'hang') await hold(exchange);
  if (exchange.response.closed) return settleAbort(exchange, reply, 0, false);
  if (rule.fault === 'reset_before_headers') {
    exchange.log.settle(exchange.call, 'fault', null, 0);
    exchange.response.socket?.resetAndDestroy();
    return;
  }
  if (rule.informational) exchange.response.writeEarlyHints(rule.informational);
  if (rule.fault === 'redirect') return sendRedirect(exchange, rule);
  if (reply.kind === 'whole' && isPlain(rule)) return sendWhole(exchange, reply, rule);
  return sendFrames(exchange, reply, rule);
}

/** No option that needs the body in parts: one write, which is what the benchmarks measure. */
function isPlain(rule: SimRule): boolean {
  const inParts = rule.splitEveryBytes ?? rule.firstByteDelayMs ?? rule.trailers ?? rule.encoding;
  return (
    inParts === undefined && (rule.fault === undefined || rule.fault === 'no_usage' || rule.fault === 'hang')
  );
}

function sendWhole(exchange: Exchange, reply: Reply & { kind: 'whole' }, rule: SimRule): void {
  const headers = {
    ...reply.headers,
    'content-length': String(Buffer.byteLength(reply.body)),
    ...rule.headers,
  };
  writeHead(exchange, reply.status, headers);
  // Settled before the bytes leave: whoever has read the answer must find the bill.
  exchange.log.settle(exchange.call, 'complete', reply.bill, Number.POSITIVE_INFINITY);
  exchange.response.end(reply.body);
}

function sendRedirect(exchange: Exchange, rule: SimRule): void {
  writeHead(exchange, rule.status ?? 307, {
    location: DEFAULT_REDIRECT,
    'content-length': '0',
    ...rule.headers,
  });
  exchange.log.settle(exchange.call, 'complete', null, 0);
  exchange.response.end();
}

function writeHead(exchange: Exchange, status: number, headers: ReplyHeaders): void {
  exchange.call.status = status;
  exchange.response.writeHead(status, headers);
}

async function sendFrames(exchange: Exchange, reply: Reply, rule: SimRule): Promise<void> {
  const { response } = exchange;
  const frames = framesOf(reply, rule);
  const status = rule.status ?? (reply.kind === 'whole' ? reply.status : 200);
  const encoder = encoderFor(exchange.acceptEncoding, rule.encoding);
  const headers: ReplyHeaders = { ...reply.headers };
  if (encoder !== null) headers['content-encoding'] = encoder.name;
  else if (reply.kind === 'whole' && !rule.trailers) headers['content-length'] = declaredLength(frames, rule);
  if (rule.trailers) headers.trailer = Object.keys(rule.trailers).join(', ');
  // Whatever follows a body of the wrong length is noise, so the connection must not be used again.
  if (rule.fault === 'wrong_content_length') headers.connection = 'close';
  writeHead(exchange, status, { ...headers, ...rule.headers });
  if (rule.firstByteDelayMs) {
    response.flushHeaders();
    await pause(exchange, rule.firstByteDelayMs);
  }
  const sink = encoder ?? plainSink(exchange);
  if (encoder) encoder.stream.on('data', (bytes: Buffer) => response.write(bytes));
  const stopAfter = stopIndex(frames.length, rule);
  for (let index = 0; index < frames.length; index += 1) {
    const sent = index === 0 ? 0 : frames[index - 1]!.outputTokens;
    if (index === stopAfter) {
      const goesOn = await applyFault(exchange, reply, rule, sink, sent);
      if (!goesOn) return;
    }
    if (rule.chunkDelayMs && index > 0) await pause(exchange, rule.chunkDelayMs);
    if (response.closed) return settleAbort(exchange, reply, sent, true);
    for (const bytes of splitBytes(frames[index]!.bytes, rule.splitEveryBytes)) await sink.write(bytes);
  }
  exchange.log.settle(exchange.call, 'complete', reply.bill, Number.POSITIVE_INFINITY);
  await sink.finish();
  if (rule.trailers) response.addTrailers(rule.trailers);
  response.end();
}

interface WireFrame {
  readonly bytes: string | Buffer;
  readonly outputTokens: number;
}

function framesOf(reply: Reply, rule: SimRule): WireFrame[] {
  if (reply.kind === 'stream')
    return rule.fault === 'garbage_sse' ? withGarbage(reply.frames) : [...reply.frames];
  const outputTokens = reply.bill?.usage.outputTokens ?? 0;
  const body = Buffer.from(rule.fault === 'garbage_sse' ? `<html>${GARBAGE.join('')}` : reply.body);
  const count = Math.max(1, Math.min(stopsMidBody(rule) ? 2 : 1, body.length));
  const frames: WireFrame[] = [];
  for (let index = 0; index < count; index += 1) {
    const start = Math.round((body.length * index) / count);
    const end = Math.round((body.length * (index + 1)) / count);
    // A whole body exists before its first byte is sent, so every part carries the full count.
    frames.push({ bytes: body.subarray(start, end), outputTokens });
  }
  return frames;
}

function withGarbage(frames: readonly Frame[]): WireFrame[] {
  return frames.flatMap((frame, index) => [
    {
      bytes: GARBAGE[index % GARBAGE.length]!,
      outputTokens: index === 0 ? 0 : frames[index - 1]!.outputTokens,
    },
    frame,
  ]);
}

function stopsMidBody(rule: SimRule): boolean {
  switch (rule.fault) {
    case 'reset_mid_body':
    case 'half_body':
    case 'hang_mid_body':
    case 'early_end':
    case 'error_event':
      return true;
    default:
      return false;
  }
}

function stopIndex(frameCount: number, rule: SimRule): number {
  if (!stopsMidBody(rule)) return -1;
  return Math.min(rule.faultAfterChunks ?? Math.ceil(frameCount / 2), frameCount - 1);
}

function declaredLength(frames: WireFrame[], rule: SimRule): string {
  const bytes = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame.bytes), 0);
  return String(
    rule.fault === 'wrong_content_length' ? Math.max(0, bytes - MISSING_CONTENT_LENGTH_BYTES) : bytes,
  );
}

/** Does what the fault says at its place in the body; true if the rest is still to be sent. */
async function applyFault(
  exchange: Exchange,
  reply: Reply,
  rule: SimRule,
  sink: Sink,
  outputTokens: number,
): Promise<boolean> {
  const { response, call, log } = exchange;
  // What was written so far must reach the wire first: the fault is about what comes after it.
  await sink.flush();
  response.flushHeaders();
  if (rule.fault === 'hang_mid_body') {
    await hold(exchange);
    return true;
  }
  const generated = reply.kind === 'whole' ? Number.POSITIVE_INFINITY : outputTokens;
  log.settle(call, response.closed ? 'client_abort' : 'fault', reply.bill, generated);
  switch (rule.fault) {
    case 'reset_mid_body':
      await drained(exchange);
      response.socket?.resetAndDestroy();
      break;
    case 'half_body':
      await drained(exchange);
      response.socket?.destroySoon();
      break;
    case 'error_event':
      if (reply.kind === 'stream') await sink.write(Buffer.from(reply.errorFrame));
      await sink.finish();
      response.end();
      break;
    default:
      await sink.finish();
      response.end();
  }
  return false;
}

interface Sink {
  write(bytes: Buffer): Promise<void> | undefined;
  flush(): Promise<void>;
  finish(): Promise<void>;
}

function plainSink(exchange: Exchange): Sink {
  return {
    write: (bytes) => (exchange.response.write(bytes) ? undefined : writable(exchange)),
    flush: async () => {},
    finish: async () => {},
  };
}

function encoderFor(acceptEncoding: string, encoding: SimRule['encoding']) {
  if (encoding === undefined || encoding === 'identity' || !offers(acceptEncoding, encoding)) return null;
  const stream = { gzip: createGzip, deflate: createDeflate, br: createBrotliCompress }[encoding]();
  const flushKind = encoding === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
  const flush = () => new Promise<void>((resolve) => stream.flush(flushKind, resolve));
  return {
    name: encoding,
    stream,
    flush,
    // Flushed after every frame, as a provider must if its events are to arrive when they happen.
    write: (bytes: Buffer) => {
      stream.write(bytes);
      return flush();
    },
    finish: () =>
      new Promise<void>((resolve) => {
        stream.once('end', resolve);
        stream.end();
      }),
  };
}

function offers(acceptEncoding: string, encoding: string): boolean {
  return acceptEncoding.split(',').some((part) => {
    const [name, quality] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return (name === encoding || name === '*') && Number(quality ?? 1) > 0;
  });
}

function* splitBytes(frame: string | Buffer, everyBytes: number | undefined): Generator<Buffer> {
  const bytes = typeof frame === 'string' ? Buffer.from(frame) : frame;
  if (!everyBytes || everyBytes < 1) {
    yield bytes;
    return;
  }
  for (let start = 0; start < bytes.length; start += everyBytes)
    yield bytes.subarray(start, start + everyBytes);
}

function settleAbort(exchange: Exchange, reply: Reply, outputTokens: number, hasBegun: boolean): void {
  // A whole answer nobody waited for is not billed; a whole answer cut on its way out is.
  const generated = reply.kind === 'whole' ? Number.POSITIVE_INFINITY : outputTokens;
  exchange.log.settle(exchange.call, 'client_abort', hasBegun ? reply.bill : null, generated);
}

function pause(exchange: Exchange, ms: number): Promise<void> {
  return untilClosedOr(exchange, (done) => {
    const timer = setTimeout(done, ms);
    return () => clearTimeout(timer);
  });
}

function hold(exchange: Exchange): Promise<void> {
  return untilClosedOr(exchange, (done) => {
    exchange.held.add(done);
    return () => exchange.held.delete(done);
  });
}

function writable(exchange: Exchange): Promise<void> {
  return untilClosedOr(exchange, (done) => {
    exchange.response.once('drain', done);
    return () => exchange.response.off('drain', done);
  });
}

/** Resolves when everything written so far was handed to the kernel. */
function drained(exchange: Exchange): Promise<void> {
  return untilClosedOr(exchange, (done) => {
    exchange.response.socket?.write('', () => done());
    return () => {};
  });
}

function untilClosedOr(exchange: Exchange, arm: (done: () => void) => () => void): Promise<void> {
  const { response } = exchange;
  if (response.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off('close', done);
      disarm();
      resolve();
    };
    response.once('close', done);
    const disarm = arm(done);
  });
}
