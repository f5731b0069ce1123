import type { ServerResponse } from 'node:http';
import type { ErrorCause, Refusal } from '../../contract/errors.ts';

/** Worth another try in a moment; everything else stays refused, and official clients are told not to insist. */
const PASSING: ReadonlySet<ErrorCause> = new Set(['unavailable', 'upstream_unreachable', 'upstream_timeout']);
const RETRY_AFTER_SECONDS = 1;
/** How long a client may go on sending a body that nobody wants, so that it gets to read why. */
const LINGER_MS = 2_000;

export function sendRefusal(response: ServerResponse, refusal: Refusal, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(refusal.body);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(body));
  for (const [name, value] of refusalHeaders(refusal, requestId)) response.setHeader(name, value);
  if (refusal.cause === 'payload_too_large') return endAfterBody(response, refusal.status, body);
  response.writeHead(refusal.status);
  response.end(body);
}

/** What every refusal of ours carries beside its body. */
export function refusalHeaders(refusal: Refusal, requestId: string): Array<[string, string]> {
  const headers: Array<[string, string]> = [['x-gateway-request-id', requestId]];
  if (!PASSING.has(refusal.cause)) headers.push(['x-should-retry', 'false']);
  const retryAfter = retryAfterSeconds(refusal);
  if (retryAfter !== null) headers.push(['retry-after', String(retryAfter)]);
  return headers;
}

/**
 * Closing a connection on bytes nobody has read resets it, and the reset can overtake the answer. So the answer
 * goes out whole, what still comes is thrown away for a moment, and then the connection ends.
 */
function endAfterBody(response: ServerResponse, status: number, body: string): void {
  const { req: request } = response;
  response.setHeader('connection', 'close');
  response.writeHead(status);
  response.write(body);
  const timer = setTimeout(end, LINGER_MS);
  function end(): void {
    clearTimeout(timer);
    response.end();
  }
  request.once('end', end).once('close', end).resume();
}

function retryAfterSeconds(refusal: Refusal): number | null {
  if (refusal.cause === 'unavailable') return RETRY_AFTER_SECONDS;
  const seconds = refusal.body.retry_after_seconds;
  return typeof seconds === 'number' ? seconds : null;
}
