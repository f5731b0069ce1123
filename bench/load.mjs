// A client that costs little: keep-alive sockets, one request after the other on each, answers counted by length.
import { connect } from 'node:net';

/** Sends `count` requests over `connections` sockets; answers how many came back with 200, and how long each took. */
export function load({ url, path, headers, body, count, connections }) {
  const { hostname, port } = new URL(url);
  const request = requestBytes({ url, path, headers, body });
  let sent = 0;
  let good = 0;
  const latencies = [];
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      let startedMs = 0;
      let pending = Buffer.alloc(0);
      const next = () => {
        if (sent >= count) return socket.end(resolve);
        sent += 1;
        startedMs = performance.now();
        socket.write(request);
      };
      socket.on('connect', next);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        const length = answerLength(pending);
        if (length === 0) return;
        if (pending.subarray(9, 12).toString() === '200') good += 1;
        latencies.push(performance.now() - startedMs);
        pending = Buffer.alloc(0);
        next();
      });
    });
  return Promise.all(Array.from({ length: connections }, one)).then(() => ({ good, latencies }));
}

/**
 * Sends requests at a steady rate until `isOver`, whatever becomes of those before: each is timed from the moment
 * it was due, so that a server that stops for a while is charged for everybody it kept waiting.
 */
export async function sendSteadily({ url, path, headers, body, perSecond, isOver }) {
  const request = requestBytes({ url, path, headers, body });
  const idle = [];
  const latencies = [];
  const answers = [];
  let good = 0;
  const startedMs = performance.now();
  for (let sent = 0; !isOver(); sent += 1) {
    const dueMs = startedMs + (sent * 1000) / perSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const connection = idle.pop() ?? openConnection(url);
    answers.push(
      connection.ask(request).then((status) => {
        latencies.push(performance.now() - dueMs);
        if (status === '200') good += 1;
        idle.push(connection);
      }),
    );
  }
  await Promise.all(answers);
  for (const connection of idle) connection.close();
  return { good, latencies };
}

/** A keep-alive socket for one request at a time. */
function openConnection(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  let pending = Buffer.alloc(0);
  let settle = { resolve: () => {}, reject: () => {} };
  socket.on('error', (error) => settle.reject(error));
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    if (answerLength(pending) === 0) return;
    const status = pending.subarray(9, 12).toString();
    pending = Buffer.alloc(0);
    settle.resolve(status);
  });
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.end(),
  };
}

function requestBytes({ url, path, headers, body }) {
  const head = Object.entries({
    host: new URL(url).host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n${body}`);
}

/** The length of the whole answer at the start of these bytes, or 0 when some of it is still to come. */
function answerLength(bytes) {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return 0;
  const head = bytes.subarray(0, headEnd).toString('latin1');
  const declared = /\r\ncontent-length: (\d+)/i.exec(head);
  if (declared) {
    const total = headEnd + 4 + Number(declared[1]);
    return bytes.length >= total ? total : 0;
  }
  return bytes.subarray(-5).toString() === '0\r\n\r\n' ? bytes.length : 0;
}
