import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import type { CsvFile, EventStream, Handler } from '../api/handler.ts';
import { type CallerParts, proveCaller } from './caller.ts';
import { clientIp, type parseNetworks, rateLimitKey } from './client-ip.ts';
import { allowCrossOrigin } from './cors.ts';
import { csvStream } from './csv.ts';
import { openEventStream } from './event-stream.ts';
import { readMultipart } from './multipart.ts';
import type { RateLimit } from './rate-limit.ts';
import { authorizationOf, keepTokenInCookie } from './session-cookie.ts';
import { compileValidator, compileWriter, readQuery, type Validator } from './validate.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** An invoice of 200 MB has to come through in this time, read as it comes; everything else is small. */
const REQUEST_TIMEOUT_MS = 300_000;
const CONNECTIONS_CHECK_MS = 2_000;
/** Said with every 429 that does not know better. */
const RETRY_AFTER_SECONDS = 30;

export interface HttpParts extends CallerParts {
  operations: Record<string, Operation>;
  handlers: Record<string, Handler<never>>;
  /** By operation name: counted by client address, or by account where the caller has to prove one. */
  rateLimits: Record<string, RateLimit>;
  trustedProxies: ReturnType<typeof parseNetworks>;
  corsOrigins: readonly string[];
  onFault: (error: unknown, requestId: string, what: string) => void;
}

/** The management API: every row of the contract becomes a route, and nothing else does. */
export function buildHttpServer(parts: HttpParts): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 2048 },
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    },
    genReqId: () => uuidv7(),
    // A path that cannot be decoded leads nowhere.
    frameworkErrors: (_error, request, reply) => {
      void sendRefusal(reply.header('x-gateway-request-id', request.id), refuse('not_found'));
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-gateway-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    return allowCrossOrigin(request, reply, parts.corsOrigins);
  });
  readEveryBodyAsJson(app);
  app.setErrorHandler((error, request, reply) => sendRefusal(reply, refusalOfFault(error, request, parts)));
  const routes: Array<{ method: string; path: string }> = [];
  for (const [name, operation] of Object.entries(parts.operations)) {
    const respond = answerFor(name, operation, parts.handlers[name]!, parts);
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
      if (operation.upload) takeUploads(app, operation.method, url, respond);
      else app.route({ method: operation.method, url, handler: respond });
      routes.push({ method: operation.method, path });
    }
  }
  app.setNotFoundHandler((request, reply) => answerUnknownRoute(request, reply, routes));
  return app;
}

/** Bodies are JSON whatever the content type says; an absent one is an empty object, so that the contract names what is missing. */
function readEveryBodyAsJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, {});
    try {
      done(null, JSON.parse(body as string));
    } catch {
      done(Object.assign(new Error('not JSON'), { refusal: refuse('invalid_body') }));
    }
  });
}

/** Its body is left for the handler to read as it comes, instead of being read into memory first. */
function takeUploads(
  app: FastifyInstance,
  method: string,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({ method, url, handler });
  });
}

function answerFor(name: string, operation: Operation, handler: Handler<never>, parts: HttpParts) {
  const bodyValidator = operation.body && !operation.upload ? compileValidator(operation.body) : null;
  const queryValidator = operation.query ? compileValidator(operation.query) : null;
  const write = compileWriter(operation.response);
  const limit = parts.rateLimits[name];
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const ip = clientIp(
      request.socket.remoteAddress,
      headerText(request, 'x-forwarded-for'),
      parts.trustedProxies,
    );
    const waitOf = (key: string) => limit?.take(key, parts.nowMs());
    const addressWait = operation.auth === 'none' && waitOf(rateLimitKey(ip));
    if (addressWait) return sendRefusal(reply.header('retry-after', addressWait), refuse('rate_limited'));
    const caller = await proveCaller(operation.auth, authorizationOf(request.headers), parts);
    if (isRefusal(caller)) return sendRefusal(reply, caller);
    const accountWait = caller.kind === 'tenant' && waitOf(caller.tenantId);
    if (accountWait)
      return sendRefusal(reply.header('retry-after', accountWait), refuse('too_many_sendings'));
    const query = operation.query && readQuery(operation.query, request.query as Record<string, unknown>);
    const checkedQuery = check(queryValidator, query ?? {});
    if (isRefusal(checkedQuery)) return sendRefusal(reply, checkedQuery);
    const body = check(bodyValidator, request.body ?? {});
    if (isRefusal(body)) return sendRefusal(reply, body);
    const ignored = bodyValidator ? body.unknown : [];
    if (operation.strict && ignored.length > 0) {
      return sendRefusal(
        reply,
        refuse('invalid_field', `Unknown field: ${ignored.map(printable).join(', ')}.`),
      );
    }
    const answer: unknown = await handler({
      body: operation.upload ? undefined : body.value,
      upload: operation.upload && readMultipart(request.raw),
      query: checkedQuery.value,
      params: request.params as Record<string, string>,
      caller,
      ip,
      requestId: request.id,
    } as never);
    if (isRefusal(answer)) return sendRefusal(reply, answer);
    if (ignored.length > 0) {
      reply.header('warning', `299 gateway "unknown fields ignored: ${ignored.map(printable).join(', ')}"`);
    }
    if (isCsv(answer)) return sendCsv(reply, answer);
    if (isEventStream(answer)) return sendEvents(request, reply, answer, operation.auth, parts);
    reply.code(operation.success);
    if (operation.success === 204) return reply.send();
    const shown = keepTokenInCookie(request, reply, name, answer);
    return reply.type('application/json; charset=utf-8').send(write(shown));
  };
}

function check(validator: Validator | null, value: unknown): ReturnType<Validator['check']> {
  return validator ? validator.check(value) : { value: {}, unknown: [] };
}

/** Field names go into a header: only what a header can carry, and not too much of it. */
function printable(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 64);
}

function headerText(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function isCsv(answer: unknown): answer is CsvFile {
  return typeof answer === 'object' && answer !== null && (answer as { kind?: unknown }).kind === 'csv';
}

function sendCsv(reply: FastifyReply, file: CsvFile): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${file.filename}"`)
    .send(csvStream(file));
}

function isEventStream(answer: unknown): answer is EventStream {
  return typeof answer === 'object' && answer !== null && (answer as { kind?: unknown }).kind === 'sse';
}

function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  stream: EventStream,
  auth: Operation['auth'],
  parts: HttpParts,
): FastifyReply {
  const bytes = openEventStream(stream, {
    lastEventId: headerText(request, 'last-event-id') ?? null,
    stillProved: async () => !isRefusal(await proveCaller(auth, authorizationOf(request.headers), parts)),
  });
  // A proxy in between that gathered the bytes would make the live tail anything but live.
  reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
  // Nothing comes after it: kept alive, its connection would hold up a server that closes.
  reply.header('connection', 'close');
  if (request.method !== 'HEAD') return reply.send(bytes);
  bytes.destroy();
  return reply.send();
}

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.status === 429 && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', RETRY_AFTER_SECONDS);
  }
  return reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body));
}

function refusalOfFault(error: unknown, request: FastifyRequest, parts: HttpParts): Refusal {
  const fault = error as { refusal?: Refusal; statusCode?: number; code?: string };
  if (fault.refusal) return fault.refusal;
  if (fault.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return refuse('payload_too_large');
  if (fault.statusCode && fault.statusCode < 500) return refuse('invalid_body');
  parts.onFault(error, request.id, `${request.method} ${request.routeOptions.url ?? ''}`);
  return refuse('internal_error');
}

function answerUnknownRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: ReadonlyArray<{ method: string; path: string }>,
): FastifyReply {
  const path = request.url.split('?')[0]!.replace(/(.)\/$/, '$1');
  const allowed = routes
    .filter((route) =>
      new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    .map((route) => route.method);
  if (allowed.length === 0) return sendRefusal(reply, refuse('not_found'));
  if (allowed.includes('GET')) allowed.push('HEAD');
  return sendRefusal(reply.header('allow', [...new Set(allowed)].join(', ')), refuse('method_not_allowed'));
}
