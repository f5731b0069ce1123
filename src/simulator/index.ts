import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROVIDERS, type Provider } from '../contract/providers.ts';
import { anthropic, anthropicError } from './anthropic.ts';
import { type BilledTotal, CallLog, type RecordedCall } from './calls.ts';
import { compatible } from './compatible.ts';
import { gemini, geminiError } from './gemini.ts';
import { parseObject, stringIn } from './json.ts';
import { refuseKey } from './keys.ts';
import { openAi } from './openai.ts';
import { openAiError } from './openai-protocol.ts';
import type { ResponseStore } from './openai-responses.ts';
import { jsonReply, type Reply } from './reply.ts';
import type { SimRequest } from './request.ts';
import { type RuleSubject, ruleFromHeader, Script, type SimRule } from './rule.ts';
import { servedModel } from './served-model.ts';
import { sendReply } from './transport.ts';
import { NO_USAGE } from './usage.ts';

export type { BilledTotal, RecordedCall } from './calls.ts';
export type { Fault, RuleMatch, RuleSubject, SimRule, Variant } from './rule.ts';
export type { SimUsage } from './usage.ts';

/** How much of a request body is kept with the call; its hash covers all of it. */
const MAX_KEPT_BODY_BYTES = 16 * 1024;
/** Larger bodies are read and hashed, and answered with 413. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_HEADER_BYTES = 256 * 1024;
/** Longer than any client keeps an idle connection, so that the client always closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

const BASE_PATHS: Readonly<Record<Provider, string>> = {
  prov_a: '/sim_a',
  prov_b: '/sim_b',
  prov_c: '/sim_c',
  prov_d: '/sim_d',
};

export interface SimulatorOptions {
  /** 0 or nothing: any free port. */
  port?: number;
  host?: string;
  /** With a seed, output sizes spread over 1..256 by the request's content; without, they are 16. */
  seed?: number;
  /** Lies under every scripted rule. */
  defaults?: SimRule;
  /** The one key a provider accepts; providers without an entry accept any. */
  requireKey?: Partial<Record<Provider, string>>;
  maxCalls?: number;
}

export interface Simulator {
  /** The origin, without a path. */
  readonly url: string;
  /** What to give the gateway as this provider's URL. */
  providerUrl(provider: Provider): string;
  /** Adds a rule; the first one that matches and is not used up answers. */
  script(provider: Provider, rule: SimRule): void;
  /** Forgets rules, calls and bills. */
  reset(): void;
  calls(): RecordedCall[];
  billed(): BilledTotal[];
  /** Resolves once so many requests have come in whole since the last reset. */
  arrived(count: number): Promise<void>;
  /** Resolves once every call has ended. */
  settled(): Promise<void>;
  /** Lets every answer go on that `hang` or `hang_mid_body` holds back. */
  release(): void;
  close(): Promise<void>;
}

interface Simulation {
  readonly options: SimulatorOptions;
  readonly log: CallLog;
  readonly scripts: Record<Provider, Script>;
  readonly store: ResponseStore;
  readonly held: Set<() => void>;
  serial: number;
}

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const scripts = { prov_a: new Script(), prov_b: new Script(), prov_c: new Script(), prov_d: new Script() };
  const log = new CallLog(options.maxCalls);
  const simulation: Simulation = { options, log, scripts, store: new Map(), held: new Set(), serial: 0 };
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, noDelay: true }, (request, response) =>
    receive(simulation, request, response),
  );
  // Whatever the gateway lets through must be seen here, so nothing is cut off or timed out on this side.
  server.maxHeadersCount = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    url,
    providerUrl: (provider) => url + BASE_PATHS[provider],
    script: (provider, rule) => scripts[provider].add(rule),
    reset: () => {
      for (const provider of PROVIDERS) scripts[provider].clear();
      log.clear();
    },
    calls: () => log.calls(),
    billed: () => log.billed(),
    arrived: (count) => log.arrived(count),
    settled: () => log.settled(),
    release: () => release(simulation),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function release(simulation: Simulation): void {
  for (const goOn of [...simulation.held]) goOn();
}

function receive(simulation: Simulation, request: IncomingMessage, response: ServerResponse): void {
  const target = request.url ?? '';
  const provider = providerOf(target);
  const call: RecordedCall = {
    provider,
    method: request.method ?? '',
    rawPath: provider === null ? target : target.slice(BASE_PATHS[provider].length),
    rawTarget: target,
    rawHeaders: request.rawHeaders,
    bodySha256: '',
    bodyBytes: 0,
    body: Buffer.alloc(0),
    status: 0,
    requestedModel: null,
    servedModel: null,
    usageBilled: null,
    startedAt: new Date(),
    endedBy: 'open',
  };
  const hash = createHash('sha256');
  const parts: Buffer[] = [];
  request.on('data', (bytes: Buffer) => {
    hash.update(bytes);
    call.bodyBytes += bytes.length;
    if (call.bodyBytes <= MAX_BODY_BYTES) parts.push(bytes);
  });
  request.on('end', () => {
    const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    call.bodySha256 = hash.digest('hex');
    // Copied: a slice would keep the whole network read behind it alive as long as the call is remembered.
    call.body = Buffer.from(body.subarray(0, MAX_KEPT_BODY_BYTES));
    simulation.log.arrive(call);
    response.on('close', () => {
      // The last bytes were generated and billed, but the client did not take them.
      if (call.endedBy === 'complete' && !response.writableFinished) call.endedBy = 'client_abort';
    });
    answer(simulation, call, body, request, response).catch((error: unknown) => {
      console.error('simulator:', error);
      simulation.log.settle(call, 'fault', null, 0);
      response.destroy();
    });
  });
  request.on('close', () => {
    if (request.complete) return;
    simulation.log.arrive(call);
    simulation.log.settle(call, 'client_abort', null, 0);
  });
}

function providerOf(target: string): Provider | null {
  for (const provider of PROVIDERS) {
    const base = BASE_PATHS[provider];
    if (!target.startsWith(base)) continue;
    const next = target[base.length];
    if (next === undefined || next === '/' || next === '?') return provider;
  }
  return null;
}

async function answer(
  simulation: Simulation,
  call: RecordedCall,
  body: Buffer,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const acceptEncoding = incoming.headers['accept-encoding'];
  const exchange = {
    response,
    call,
    log: simulation.log,
    held: simulation.held,
    acceptEncoding: typeof acceptEncoding === 'string' ? acceptEncoding : '',
  };
  if (call.provider === null)
    return sendReply(exchange, jsonReply(404, { error: 'outside every base path' }), {});
  const request = readRequest(simulation, call, call.provider, body, incoming);
  if (request === null) return sendReply(exchange, jsonReply(400, { error: 'x-sim is not a rule' }), {});
  const reply = replyTo(simulation, call, request);
  call.requestedModel = reply.bill?.requestedModel ?? null;
  call.servedModel = reply.bill?.servedModel ?? null;
  return sendReply(exchange, reply, request.rule);
}

/** Null if the request carries an `x-sim` header that is not a rule. */
function readRequest(
  simulation: Simulation,
  call: RecordedCall,
  provider: Provider,
  body: Buffer,
  incoming: IncomingMessage,
): SimRequest | null {
  const { options } = simulation;
  const cut = call.rawPath.indexOf('?');
  const path = cut === -1 ? call.rawPath : call.rawPath.slice(0, cut);
  const json = isJson(incoming) ? parseObject(body) : null;
  const subject: RuleSubject = {
    method: call.method,
    path,
    model: stringIn(json, 'model') ?? /\/models\/([^/:]+)/.exec(path)?.[1] ?? null,
    stream: json?.stream === true || path.endsWith(':streamGenerateContent'),
    headers: incoming.headers,
  };
  let rule: SimRule = { ...options.defaults, ...simulation.scripts[provider].take(subject) };
  const header = incoming.headers['x-sim'];
  if (header !== undefined) {
    const own = typeof header === 'string' ? ruleFromHeader(header) : null;
    if (own === null) return null;
    rule = { ...rule, ...own };
  }
  simulation.serial += 1;
  return {
    provider,
    method: call.method,
    path,
    query: cut === -1 ? '' : call.rawPath.slice(cut + 1),
    headers: incoming.headers,
    body,
    json,
    rule,
    serial: simulation.serial,
    seed: options.seed ?? null,
    createdSeconds: Math.floor(call.startedAt.getTime() / 1000),
  };
}

function isJson(incoming: IncomingMessage): boolean {
  return !(incoming.headers['content-type'] ?? '').startsWith('multipart/');
}

function replyTo(simulation: Simulation, call: RecordedCall, request: SimRequest): Reply {
  const { rule } = request;
  const refusal = refuseKey(request, simulation.options.requireKey?.[request.provider]);
  if (refusal !== null) return refusal;
  if (call.bodyBytes > MAX_BODY_BYTES) return errorReply(request, 413, 'Request exceeds the maximum size');
  if (rule.body !== undefined) return scriptedBody(request, rule.body);
  if (rule.status !== undefined && rule.status >= 400)
    return errorReply(request, rule.status, 'Scripted error.');
  const reply = providerReply(simulation, request);
  return rule.status !== undefined && reply.kind === 'whole' ? { ...reply, status: rule.status } : reply;
}

function providerReply(simulation: Simulation, request: SimRequest): Reply {
  switch (request.provider) {
    case 'prov_a':
      return openAi(request, simulation.store);
    case 'prov_b':
      return anthropic(request);
    case 'prov_c':
      return gemini(request);
    case 'prov_d':
      return compatible(request);
  }
}

function errorReply(request: SimRequest, status: number, message: string): Reply {
  if (request.provider === 'prov_b') return anthropicError(request, status, message);
  return request.provider === 'prov_c' ? geminiError(status, message) : openAiError(status, message);
}

function scriptedBody(request: SimRequest, body: string | Buffer): Reply {
  const { rule } = request;
  const requestedModel = stringIn(request.json, 'model') ?? '';
  const bill =
    rule.usage === undefined
      ? null
      : {
          requestedModel,
          servedModel: rule.model ?? servedModel(requestedModel),
          usage: { ...NO_USAGE, ...rule.usage },
        };
  return {
    kind: 'whole',
    status: rule.status ?? 200,
    headers: { 'content-type': 'application/json' },
    body,
    bill,
  };
}
