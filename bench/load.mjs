// A client that costs little: keep-alive sockets, one request after the other on each, answers counted by length.
import { connect } from 'node:net';

/** Sends `count` requests over `connections` sockets; answers how many came back with 200, and how long each took. */
export function load({ url, path, headers, body, count, connections }) {
  const { hostname, port, host } = new URL(url);
  const head = Object.entries({
    host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const request = Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n${body}`);
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
