import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Refusal, refuse } from '../../contract/errors.ts';

const EMPTY = Buffer.alloc(0);

/**
 * The whole body, up to a bound: deciding on a request needs to see what it asks for. Null when the client left
 * before it had sent everything.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<Buffer | Refusal | null> {
  const declared = request.headers['content-length'];
  if (declared === undefined && request.headers['transfer-encoding'] === undefined)
    return Promise.resolve(EMPTY);
  if (declared !== undefined && Number(declared) > maxBytes) return Promise.resolve(tooLarge(maxBytes));
  // It left while its key was looked up: none of the events below would come any more.
  if (request.destroyed) return Promise.resolve(null);
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        request.removeAllListeners('data').pause();
        resolve(tooLarge(maxBytes));
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)));
    request.on('close', () => resolve(null));
    request.on('error', () => resolve(null));
  });
}

function tooLarge(maxBytes: number): Refusal {
  return refuse('payload_too_large', `The body is larger than the ${maxBytes} bytes this gateway accepts.`);
}
