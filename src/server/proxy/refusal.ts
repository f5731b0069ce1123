import type { ServerResponse } from 'node:http';
import type { ErrorCause, Refusal } from '../../contract/errors.ts';

/** Worth another try in a moment; everything else stays refused, and official clients are told not to insist. */
const PASSING: ReadonlySet<ErrorCause> = new Set(['unavailable', 'upstream_unreachable', 'upstream_timeout']);
const RETRY_AFTER_SECONDS = '1';

export function sendRefusal(response: ServerResponse, refusal: Refusal, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(refusal.body);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(body));
  response.setHeader('x-gateway-request-id', requestId);
  if (!PASSING.has(refusal.cause)) response.setHeader('x-should-retry', 'false');
  if (refusal.cause === 'unavailable') response.setHeader('retry-after', RETRY_AFTER_SECONDS);
  response.writeHead(refusal.status);
  response.end(body);
}
