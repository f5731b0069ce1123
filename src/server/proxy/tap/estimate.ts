import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

/** Texts waiting to be counted; beyond either bound the approximation answers at once. */
const MAX_WAITING_TEXTS = 1_000;
const MAX_WAITING_CHARS = 64 * 1024 * 1024;
/** Starting the worker loads the vocabulary (about half a second); a hostile text can take far longer. */
const COUNT_TIMEOUT_MS = 10_000;
/** Rough average over English prose, code and JSON for current vocabularies. */
const BYTES_PER_TOKEN = 4;

/**
 * Runs in the worker. Written as text so that the same code starts from the TypeScript sources and from the
 * compiled files; the tokenizer is handed over as a resolved path. Special-token marks are ordinary text here:
 * a prompt that quotes one must not make counting fail. Runs without a break are counted in pieces, because
 * the tokenizer's time grows with the square of their length; that adds at most a token per piece.
 */
const WORKER_SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
const { countTokens } = require(workerData.tokenizerPath);
const options = { disallowedSpecial: new Set() };
const PIECE = 512;
function count(text) {
  let tokens = 0;
  let at = 0;
  for (const run of text.matchAll(/\\S{513,}|\\s{513,}/g)) {
    tokens += countTokens(text.slice(at, run.index), options);
    at = run.index + run[0].length;
    for (let from = 0; from < run[0].length; from += PIECE) {
      tokens += countTokens(run[0].slice(from, from + PIECE), options);
    }
  }
  return tokens + countTokens(text.slice(at), options);
}
parentPort.on('message', ({ id, text }) => {
  let tokens = null;
  try { tokens = count(text); } catch {}
  parentPort.postMessage({ id, tokens });
});
`;

interface Waiting {
  text: string;
  resolve(tokens: number): void;
  timer: NodeJS.Timeout;
}

let worker: Worker | null = null;
let nextId = 1;
let waitingChars = 0;
const waiting = new Map<number, Waiting>();

/** What stands in when the tokenizer cannot answer: UTF-8 bytes divided by four, rounded up. */
export function approximateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/**
 * Tokens of a text by the o200k_base vocabulary, counted in a thread of its own so that no request waits for
 * it. Never rejects: when the queue is full, the time is up or the worker fails, the approximation answers.
 */
export function countTokens(text: string): Promise<number> {
  if (text === '') return Promise.resolve(0);
  if (waiting.size >= MAX_WAITING_TEXTS || waitingChars + text.length > MAX_WAITING_CHARS) {
    return Promise.resolve(approximateTokens(text));
  }
  return new Promise((resolve) => {
    const id = nextId;
    nextId += 1;
    const timer = setTimeout(() => timeOut(id), COUNT_TIMEOUT_MS);
    waiting.set(id, { text, resolve, timer });
    waitingChars += text.length;
    send(id, text);
  });
}

/** Stops the thread; counts still under way are answered by the approximation. */
export async function closeEstimator(): Promise<void> {
  const closing = worker;
  giveUpOnWorker();
  await closing?.terminate();
}

function startWorker(): Worker {
  const tokenizerPath = createRequire(import.meta.url).resolve('gpt-tokenizer/encoding/o200k_base');
  const started = new Worker(WORKER_SOURCE, { eval: true, workerData: { tokenizerPath }, execArgv: [] });
  started.on('message', ({ id, tokens }: { id: number; tokens: number | null }) => answer(id, tokens));
  started.on('error', () => {
    if (worker === started) giveUpOnWorker();
  });
  return started;
}

function answer(id: number, tokens: number | null): void {
  const entry = waiting.get(id);
  if (entry === undefined) return;
  waiting.delete(id);
  waitingChars -= entry.text.length;
  clearTimeout(entry.timer);
  entry.resolve(tokens ?? approximateTokens(entry.text));
  // An idle counter must not keep the process alive.
  if (waiting.size === 0) worker?.unref();
}

function send(id: number, text: string): void {
  worker ??= startWorker();
  worker.ref();
  worker.postMessage({ id, text });
}

/** The worker goes in order, so the oldest text is the one it is stuck on: drop it and count the others anew. */
function timeOut(id: number): void {
  const isOldest = waiting.keys().next().value === id;
  answer(id, null);
  if (!isOldest) return;
  void worker?.terminate();
  worker = null;
  for (const [otherId, { text }] of waiting) send(otherId, text);
}

function giveUpOnWorker(): void {
  const failed = worker;
  worker = null;
  for (const id of [...waiting.keys()]) answer(id, null);
  void failed?.terminate();
}
