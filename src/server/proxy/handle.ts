import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { Provider } from '../../contract/providers.ts';
import type { Logger } from '../adapters/log.ts';
import type { Metrics } from '../adapters/metrics.ts';
import { type Attribution, readAttribution } from '../domain/attribution.ts';
import { fingerprintPrompt, NO_FINGERPRINTS } from '../domain/fingerprint.ts';
import type { AdmittedRequest, RequestOutcome } from '../domain/request-record.ts';
import { type AdmissionParts, admit } from './admit.ts';
import { forward, type Outgoing } from './forward.ts';
import { findKeyText, holdsApiKey, keptHeaders, queryWithoutKey, upstreamHeaders } from './headers.ts';
import { type Caller, identify } from './identify.ts';
import type { Journal } from './journal/journal.ts';
import { meterAnswer, meterWithoutAnswer, STATUS_CLIENT_LEFT } from './meter.ts';
import { openUsageReader, type RequestFacts, readRequest } from './providers/index.ts';
import { readBody } from './read-body.ts';
import { sendRefusal } from './refusal.ts';
import { makeRequestId } from './request-id.ts';
import type { Reservation } from './reservation.ts';
import { readTarget } from './target.ts';
import type { Upstreams } from './upstreams.ts';

const MAX_HEADERS = 100;
/** Roughly; only for requests that a kill interrupted, where nothing better is known. */
const BYTES_PER_TOKEN = 4;
const OPENING_BRACE = '{'.charCodeAt(0);
/** The path goes on byte for byte, and a key must not. */
const KEY_IN_PATH = 'A gateway key has no place in the path.';

export interface ProxyParts extends AdmissionParts {
  journal: Journal;
  upstreams: Upstreams;
  maxBodyBytes: number;
  drainOnAbort: boolean;
  draining: () => boolean;
  metrics: Metrics;
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
  const requestId = makeRequestId(admittedAtMs);
  const reject = (refusal: Refusal) => sendRefusal(response, refusal, requestId);

  const target = readTarget(request.url ?? '');
  if (target.kind !== 'provider') return reject(refuse(target.kind));
  const { provider } = target;
  if (request.rawHeaders.length > 2 * MAX_HEADERS) return reject(refuse('headers_too_many'));
  // Some clients look whether anybody is there before they send a key.
  if (request.method === 'HEAD' && target.path.length <= 1)
    return void response.writeHead(200, { 'x-gateway-request-id': requestId }).end();
  if (holdsApiKey(target.path)) return reject(refuse('invalid_path', KEY_IN_PATH));

  const keyText = findKeyText(provider, request.headers, target.query);
  const caller = await identify(parts.snapshots, keyText);
  if (isRefusal(caller)) {
    if (caller.cause === 'invalid_token') parts.metrics.countUnauthenticated();
    return reject(caller);
  }
  if (parts.draining() || !parts.journal.writable) return reject(refuse('unavailable'));

  const body = await readBody(request, response, parts.maxBodyBytes);
  if (body === null) return;
  if (isRefusal(body)) return reject(body);

  const query = queryWithoutKey(provider, target.query);
  const path = query === '' ? target.path : `${target.path}?${query}`;
  const facts = readRequest(provider, request.method!, path, request.headers['content-type'], body);
  const attribution = readAttribution(request.rawHeaders, caller.key.scope, caller.tenant.teams);
  const admitted = describeRequest(request, {
    provider,
    facts,
    caller,
    attribution,
    body,
    requestId,
    admittedAtMs,
  });

  const admission = await admit(parts, { caller, request: admitted, attribution, facts, body });
  if (isRefusal(admission)) return rejectOnRecord(parts, admitted, admission, response, startedAtMs);
  const { providerKey, reservation } = admission;
  if (reservation) {
    admitted.reserved_microdollars = reservation.amount;
    admitted.reservations = reservation.budgets.map(({ id, periodStartMs, holderId }) => ({
      budget_id: id,
      period_start: new Date(periodStartMs).toISOString(),
      holder_id: holderId,
    }));
  }
  const headers = upstreamHeaders(request.rawHeaders, provider, providerKey);
  const outgoing = { method: request.method!, path, headers, body };
  try {
    await passOn(parts, { admitted, facts, outgoing, providerKey, reservation, response, startedAtMs });
  } finally {
    reservation?.release();
  }
}

interface Passing {
  admitted: AdmittedRequest;
  facts: RequestFacts;
  outgoing: Outgoing;
  providerKey: string;
  reservation: Reservation | null;
  response: ServerResponse;
  startedAtMs: number;
}

/** Sends an admitted request on, meters the answer, and lets the client see its end once the record is on disk. */
async function passOn(parts: ProxyParts, passing: Passing): Promise<void> {
  const { admitted, facts, outgoing, providerKey, response, startedAtMs } = passing;
  await parts.journal.begin(admitted);
  const exchange = await forward(parts.upstreams[admitted.provider], outgoing, {
    client: response,
    requestId: admitted.id,
    providerKey,
    drainOnAbort: parts.drainOnAbort,
    openReader: (status, head, onCaughtUp) => openUsageReader(facts, status, head, onCaughtUp),
  });
  const latencyTotalMs = performance.now() - startedAtMs;

  if (exchange.kind === 'failed') {
    const refusal = exchange.why === 'timeout' ? refuse('upstream_timeout') : refuse('upstream_unreachable');
    const status = exchange.why === 'client_left' ? STATUS_CLIENT_LEFT : refusal.status;
    const cause = exchange.why === 'client_left' ? null : refusal.cause;
    const failure = { status, refusal: cause, reached: exchange.reached, latencyTotalMs };
    passing.reservation?.settle(0);
    await writeDown(parts, admitted, meterWithoutAnswer(admitted, failure));
    return sendRefusal(response, refusal, admitted.id);
  }

  const { status, ended } = exchange;
  const latencyFirstByteMs = exchange.firstByteAtMs - startedAtMs;
  const reading = await exchange.reader.finish();
  const answer = { status, ended, reading, latencyTotalMs, latencyFirstByteMs };
  const outcome = await meterAnswer(admitted, facts, outgoing.body, answer, parts.snapshots.prices);
  // Before the record is written: the ingest may carry it on at once, and then looks for it among the settled.
  passing.reservation?.settle(outcome.cost_microdollars);
  await writeDown(parts, admitted, outcome);
  if (outcome.cost_status === 'priced') parts.history.add(admitted, outcome);
  if (ended === 'complete') exchange.complete();
  else exchange.breakOff();
}

/** Counted and on disk; from here on the client may see the end of its response. */
function writeDown(parts: ProxyParts, admitted: AdmittedRequest, outcome: RequestOutcome): Promise<void> {
  parts.metrics.countRequest({
    provider: admitted.provider,
    status: outcome.status_code,
    refusal: outcome.refusal,
    latencyMs: outcome.latency_total_ms,
    costMicrodollars: outcome.cost_microdollars,
    tokensInput: outcome.tokens_input,
    tokensOutput: outcome.tokens_output,
  });
  return parts.journal.end(admitted, outcome);
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
  const failure = { status: refusal.status, refusal: refusal.cause, reached: false, latencyTotalMs };
  await writeDown(parts, admitted, meterWithoutAnswer(admitted, failure));
  sendRefusal(response, refusal, admitted.id);
}

interface Description {
  provider: Provider;
  facts: RequestFacts;
  caller: Caller;
  attribution: Attribution;
  body: Buffer;
  requestId: string;
  admittedAtMs: number;
}

function describeRequest(request: IncomingMessage, description: Description): AdmittedRequest {
  const { provider, facts, caller, attribution, body, requestId, admittedAtMs } = description;
  // Files and lists are no prompts; only a JSON body that runs a model is worth comparing.
  const isPrompt = facts.kind === 'inference' && body[0] === OPENING_BRACE;
  const fingerprints = isPrompt
    ? fingerprintPrompt(caller.tenant.fingerprint, facts.wire, body)
    : NO_FINGERPRINTS;
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
    reservations: [],
    reserved_microdollars: 0,
    input_tokens_approximate: Math.ceil(body.length / BYTES_PER_TOKEN),
    // Field by field: spreading one object into another costs more than making it.
    prompt_fingerprint: fingerprints.prompt_fingerprint,
    prefix_fingerprint: fingerprints.prefix_fingerprint,
    long_prefix_fingerprint: fingerprints.long_prefix_fingerprint,
  };
}
