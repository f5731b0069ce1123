import type { FastifyInstance } from 'fastify';
import { refuse } from '../../contract/errors.ts';
import { sameSecret } from './caller.ts';
import { sendRefusal } from './server.ts';

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** Prometheus text, for whoever scrapes from this machine or holds the operator token. */
export function registerMetrics(
  app: FastifyInstance,
  text: () => Promise<string>,
  operatorToken: string,
): void {
  app.get('/metrics', async (request, reply) => {
    const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    // A reverse proxy on this machine is loopback too; what it forwards for others is not.
    const isLocal = LOOPBACK.test(request.socket.remoteAddress ?? '') && !request.headers['x-forwarded-for'];
    if (!isLocal && !(token && sameSecret(token, operatorToken)))
      return sendRefusal(reply, refuse('unauthorized'));
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text());
  });
}
