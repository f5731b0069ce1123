import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { type ErrorCause, refuse } from '../../contract/errors.ts';
import { handle, type ProxyParts } from './handle.ts';
import { JournalUnavailable } from './journal/journal.ts';
import { refusalHeaders, sendRefusal } from './refusal.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 65_000;
/** Node looks for late requests only every 30 s unless told otherwise. */
const CONNECTIONS_CHECK_MS = 2_000;
const MAX_HEADER_BYTES = 64 * 1024;

const CLIENT_ERRORS: Readonly<Record<string, ErrorCause>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_many',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

export function createProxyServer(parts: ProxyParts): { server: Server; inFlight: () => number } {
  let inFlight = 0;
  const answers = new WeakMap<Duplex, Set<ServerResponse>>();
  const refused = new WeakSet<Duplex>();
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    const open = answers.get(request.socket) ?? new Set();
    answers.set(request.socket, open.add(response));
    response.once('close', () => open.delete(response));
    if (request.url === '/health') return answerHealth(parts, response);
    inFlight += 1;
    handle(parts, request, response)
      .catch((fault: unknown) => endFault(parts, fault, request, response))
      .finally(() => {
        inFlight -= 1;
      });
  };
  // Where another request waits for its answer on the same connection, ours would be taken for that one: it is
  // let have its own, and then the connection ends.
  const refuseRaw = (socket: Duplex, cause: ErrorCause) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const open = [...(answers.get(socket) ?? [])];
    const awaited = open.filter(({ headersSent, req }) => headersSent || req.complete);
    if (!socket.writable) socket.destroy();
    else if (awaited.length === 0) socket.end(rawRefusal(cause));
    else awaited.at(-1)!.once('close', () => socket.destroy());
  };
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
    },
    receive,
  );
  // Whether a body is wanted is for us to say, once the key and the size have been looked at.
  server.on('checkContinue', receive);
  // Node would hide the headers past its own limit from us and count the request as a good one.
  server.maxHeadersCount = 0;
  server.on('upgrade', (_request, socket: Duplex) => refuseRaw(socket, 'upgrade_not_supported'));
  server.on('connect', (_request, socket: Duplex) => refuseRaw(socket, 'method_not_allowed'));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET') return socket.destroy();
    refuseRaw(socket, CLIENT_ERRORS[error.code ?? ''] ?? 'invalid_request');
  });
  return { server, inFlight: () => inFlight };
}

/** For load balancers: whether this proxy takes calls. */
function answerHealth(parts: ProxyParts, response: ServerResponse): void {
  if (parts.draining() || !parts.journal.writable)
    return sendRefusal(response, refuse('unavailable'), uuidv7());
  response.writeHead(200, { 'content-type': 'application/json', 'x-gateway-request-id': uuidv7() });
  response.end('{"status":"ok"}');
}

/** Without a durable record a response must not look complete: it is cut off where it stands. */
function endFault(
  parts: ProxyParts,
  fault: unknown,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const unavailable = fault instanceof JournalUnavailable;
  if (!unavailable) parts.log.error({ err: fault, method: request.method }, 'a proxied request broke');
  if (response.headersSent) return void response.destroy();
  sendRefusal(response, refuse(unavailable ? 'unavailable' : 'internal_error'), uuidv7());
}

function rawRefusal(cause: ErrorCause): string {
  const refusal = refuse(cause);
  const body = JSON.stringify(refusal.body);
  const headers = refusalHeaders(refusal, uuidv7()).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${headers.join('')}Connection: close\r\n\r\n${body}`
  );
}
