import type { FastifyReply, FastifyRequest } from 'fastify';

/** Anyone's page may read the public cost index; every other path answers only pages of the origins configured. */
const OPEN_PATH = '/v1/public/cost-index';
const PREFLIGHT_SECONDS = 600;

export async function allowCrossOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  origins: readonly string[],
): Promise<FastifyReply | undefined> {
  const origin = request.headers.origin;
  const open = request.url.split('?')[0] === OPEN_PATH;
  if (open) reply.header('access-control-allow-origin', '*');
  else if (origin && origins.includes(origin)) {
    reply.header('access-control-allow-origin', origin);
    reply.header('vary', 'Origin');
    reply.header('access-control-expose-headers', 'X-Gateway-Request-Id, Warning, Retry-After');
  } else return undefined;
  if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return undefined;
  reply.header('access-control-allow-methods', open ? 'GET' : 'GET, POST, PUT, DELETE');
  if (!open) reply.header('access-control-allow-headers', 'Authorization, Content-Type, Last-Event-ID');
  reply.header('access-control-max-age', PREFLIGHT_SECONDS);
  return reply.code(204).send();
}
