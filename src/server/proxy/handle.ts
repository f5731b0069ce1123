import type { IncomingMessage, ServerResponse } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { Provider } from '../../contract/providers.ts';
import type { Logger } from '../adapters/log.ts';
import { readAttribution } from '../domain/attribution.ts';
import type { AdmittedRequest } from '../domain/request-record.ts';
import { forward } from './forward.ts';
import { findKeyText, keptHeaders, queryWithoutKey, upstreamHeaders } from './headers.ts';
import { type Caller, identify } from './identify.ts';
import type { Journal } from './journal/journal.ts';
import { meterAnswer, recordWithoutAnswer, STATUS_CLIENT_LEFT } from './meter.ts';
import { openUsageReader, type RequestFacts, readRequest } from './providers/index.ts';
import { readBody } from './read-body.ts';
import { sendRefusal } from './refusal.ts';
import type { Snapshots } from './snapshot.ts';
import { readTarget } from './target.ts';
import type { Upstreams } from './upstreams.ts';

const MAX_HEADERS = 100;
/** Roughly; only for requests that a kill interrupted, where nothing better is known. */
const BYTES_PER_TOKEN = 4;

export interface ProxyParts {
  snapshots: Snapshots;
  journal: Journal;
  upstreams: Upstreams;
  maxBodyBytes: number;
  drainOnAbort: boolean;
  draining: () => boolean;
  nowMs: () => number;
  log: Logger;
}

/** A proxied request from its first byte to its durable record. */
export async function handle(
  parts: ProxyParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAtMs = performance.now();
  const admittedAtMs = parts.nowMs();
  const requestId = uuidv7({ msecs: admittedAtMs });
  const reject = (refusal: Refusal) => sendRefusal(response, refusal, requestId);

  const target = readTarget(request.url ?? '');
  if (target.kind !== 'provider') return reject(refuse(target.kind));
  const { provider } = target;
  // Some clients look whether anybody is there before they send a key.
  if (request.method === 'HEAD' && target.path.length <= 1) return void response.writeHead(200).end();
  if (request.rawHeaders.length > 2 * MAX_HEADERS) return reject(refuse('headers_too_many'));

  const keyText = findKeyText(provider, request.headers, target.query);
  const caller = await identify(parts.snapshots, keyText);
  if (isRefusal(caller)) return reject(caller);
  if (parts.draining() || !parts.journal.writable) return reject(refuse('unavailable'));

  const body = await readBody(request, response, parts.maxBodyBytes);
  if (body === null) return;
  if (isRefusal(body)) return reject(body);

  const query = queryWithoutKey(provider, target.query, caller.keyText);
  const path = query === '' ? target.path : `${target.path}?${query}`;
  const facts = readRequest(provider, request.method!, path, request.headers['content-type'], body);
  const admitted = describeRequest(request, provider, facts, caller, body, requestId, admittedAtMs);

  const providerKey = caller.tenant.providerKeys.get(provider);
  if (providerKey === undefined) {
    return rejectOnRecord(parts, admitted, refuse('provider_key_missing'), response, startedAtMs);
  }

  await parts.journal.begin(admitted);
  const exchange = await forward(
    parts.upstreams[provider],
    {
      method: request.method!,
      path,
      headers: upstreamHeaders(request.rawHeaders, provider, providerKey, caller.keyText),
      body,
    },
    {
      client: response,
      requestId,
      providerKey,
      drainOnAbort: parts.drainOnAbort,
      openReader: (status, head) => openUsageReader(facts, status, head),
    },
  );

  if (exchange.kind === 'failed') {
    const refusal = exchange.why === 'timeout' ? refuse('upstream_timeout') : refuse('upstream_unreachable');
    const status = exchange.why === 'client_left' ? STATUS_CLIENT_LEFT : refusal.status;
    const cause = exchange.why === 'client_left' ? null : refusal.cause;
    const latencyTotalMs = performance.now() - startedAtMs;
    await parts.journal.end(
      recordWithoutAnswer(admitted, { status, refusal: cause, reached: exchange.reached, latencyTotalMs }),
    );
    return reject(refusal);
  }

  const latencyTotalMs = performance.now() - startedAtMs;
  const latencyFirstByteMs = exchange.firstByteAtMs - startedAtMs;
  const { status, ended } = exchange;
  const reading = await exchange.reader.finish();
  const outcome = { status, ended, reading, latencyTotalMs, latencyFirstByteMs };
  const record = await meterAnswer(admitted, facts, body, outcome, parts.snapshots.prices);
  await parts.journal.end(record);
  if (ended === 'complete') exchange.complete();
  else exchange.breakOff();
}

/** What the checks refuse is in the request log, at no cost, and never in the ledger. */
async function rejectOnRecord(
  parts: ProxyParts,
  admitted: AdmittedRequest,
  refusal: Refusal,
  response: ServerResponse,
  startedAtMs: number,
): Promise<void> {
  const latencyTotalMs = performance.now() - startedAtMs;
  const outcome = { status: refusal.status, refusal: refusal.cause, reached: false, latencyTotalMs };
  await parts.journal.end(recordWithoutAnswer(admitted, outcome));
  sendRefusal(response, refusal, admitted.id);
}

function describeRequest(
  request: IncomingMessage,
  provider: Provider,
  facts: RequestFacts,
  caller: Caller,
  body: Buffer,
  requestId: string,
  admittedAtMs: number,
): AdmittedRequest {
  const attribution = readAttribution(request.rawHeaders, caller.key.scope, caller.tenant.teams);
  return {
    id: requestId,
    tenant_id: caller.tenant.tenantId,
    created_at: new Date(admittedAtMs).toISOString(),
    provider,
    method: request.method!,
    endpoint: facts.endpoint,
    model_requested: facts.modelRequested,
    stream: facts.stream,
    api_key_id: caller.key.id,
    environment: caller.key.environment,
    team_id: attribution.team?.id ?? null,
    team_slug: attribution.team?.slug ?? null,
    service_name: attribution.service,
    agent: attribution.agent,
    user_name: attribution.user,
    end_customer: attribution.end_customer,
    tags: attribution.tags,
    headers: keptHeaders(request.headers),
    input_tokens_approximate: Math.ceil(body.length / BYTES_PER_TOKEN),
  };
}
