import type { ServerResponse } from 'node:http';
import type { ErrorCause, Refusal } from '../../contract/errors.ts';

/** Worth another try in a moment; everything else stays refused, and official clients are told not to insist. */
const PASSING: ReadonlySet<ErrorCause> = new Set(['unavailable', 'upstream_unreachable', 'upstream_timeout']);
const RETRY_AFTER_SECONDS = 1;

export function sendRefusal(response: ServerResponse, refusal: Refusal, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(refusal.body);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(body));
  response.setHeader('x-gateway-request-id', requestId);
  if (!PASSING.has(refusal.cause)) response.setHeader('x-should-retry', 'false');
  const retryAfter = retryAfterSeconds(refusal);
  if (retryAfter !== null) response.setHeader('retry-after', retryAfter);
  response.writeHead(refusal.status);
  response.end(body);
}

function retryAfterSeconds(refusal: Refusal): number | null {
  if (refusal.cause === 'unavailable') return RETRY_AFTER_SECONDS;
  const seconds = refusal.body.retry_after_seconds;
  return typeof seconds === 'number' ? seconds : null;
}
