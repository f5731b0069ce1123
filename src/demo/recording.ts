import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../server/adapters/log.ts';
import type { PriceBook } from '../server/domain/price-book.ts';
import type { AdmittedRequest, RequestOutcome } from '../server/domain/request-record.ts';
import { Ingest } from '../server/proxy/ingest.ts';
import { Journal } from '../server/proxy/journal/journal.ts';
import { meterAnswer, meterWithoutAnswer } from '../server/proxy/meter.ts';
import { ModelWatch } from '../server/proxy/model-watch.ts';
import { type RequestFacts, readRequest } from '../server/proxy/providers/index.ts';
import type { Database } from '../server/store/database.ts';
import type { Chance } from './chance.ts';
import { exchangeOf } from './exchange.ts';
import type { PastCall } from './history.ts';

const AT_ONCE = 500;
const MAX_JOURNAL_BYTES = 1024 * 1024 * 1024;
const NO_BODY = Buffer.alloc(0);

/** Under whose name a past call is recorded. */
export interface Caller {
  tenantId: string;
  keyIdOf(call: PastCall): string;
  /** By slug; null for whoever has no teams. */
  teamIdOf(slug: string): string | null;
}

export interface Recorded {
  caller: Caller;
  call: PastCall;
}

export interface RecordingParts {
  database: Database;
  dataDir: string;
  ledgerSecret: string;
  prices: PriceBook;
  log: Logger;
}

/**
 * Puts past calls on record by the way every call takes: the meter makes the record, a journal holds it, and
 * the ingest carries it into the log, the ledger, the rollups, the budgets and the tail.
 */
export async function recordPast(
  parts: RecordingParts,
  past: readonly Recorded[],
  chance: Chance,
  signal: AbortSignal,
): Promise<void> {
  const directory = join(parts.dataDir, 'history-journal');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const journal = new Journal({ directory, maxBytes: MAX_JOURNAL_BYTES, log: parts.log });
  const models = new ModelWatch();
  const ingest = new Ingest({
    ...parts,
    journal,
    models,
    nowMs: Date.now,
    onCommitted: (records) => models.remember(records),
  });
  ingest.start();
  const factsOf = rememberedFacts();
  try {
    for (let at = 0; at < past.length && !signal.aborted; at += AT_ONCE) {
      const some = past.slice(at, at + AT_ONCE);
      const writing = some.map(async ({ caller, call }) => {
        const facts = factsOf(call);
        const admitted = admittedOf(caller, call, facts, chance);
        await journal.end(admitted, await outcomeOf(admitted, call, facts, parts.prices));
      });
      await Promise.all(writing);
    }
  } finally {
    await ingest.stop();
    await journal.close();
  }
  signal.throwIfAborted();
  if (ingest.lastError !== null) throw new Error(`the history was not taken: ${ingest.lastError}`);
  rmSync(directory, { recursive: true, force: true });
}

function outcomeOf(
  admitted: AdmittedRequest,
  call: PastCall,
  facts: RequestFacts,
  prices: PriceBook,
): Promise<RequestOutcome> | RequestOutcome {
  const { ending, latencyTotalMs, latencyFirstByteMs } = call;
  if (ending.kind === 'refused') {
    const { status, cause } = ending;
    return meterWithoutAnswer(admitted, { status, refusal: cause, reached: false, latencyTotalMs: 1 });
  }
  const served = ending.status === 200;
  return meterAnswer(
    admitted,
    facts,
    NO_BODY,
    {
      status: ending.status,
      ended: ending.clientLeft ? 'client_left' : 'complete',
      latencyTotalMs: served ? latencyTotalMs : latencyFirstByteMs,
      latencyFirstByteMs,
      reading: {
        source: served ? 'provider' : 'none',
        usage: served ? call.usage : null,
        outputReported: served,
        modelServed: served ? call.served : null,
        terms: { tier: null, region: null },
        complete: !ending.clientLeft,
        outputText: '',
        streamError: null,
        anomalies: [],
      },
    },
    prices,
  );
}

function admittedOf(
  { tenantId, keyIdOf, teamIdOf }: Caller,
  call: PastCall,
  facts: RequestFacts,
  chance: Chance,
): AdmittedRequest {
  const { workload, model, atMs, user, customer, fingerprints, usage } = call;
  const teamId = teamIdOf(workload.team);
  return {
    id: uuidv7({ msecs: atMs, random: Buffer.from(chance.hex(16), 'hex') }),
    tenant_id: tenantId,
    created_at: new Date(atMs).toISOString(),
    provider: model.provider,
    method: 'POST',
    endpoint: facts.endpoint,
    model_requested: model.model,
    stream: call.stream,
    api_key_id: keyIdOf(call),
    environment: workload.environment,
    team_id: teamId,
    team_slug: teamId === null ? null : workload.team,
    service_name: workload.service,
    agent: workload.agent,
    user_name: user,
    end_customer: customer,
    tags: { ...workload.tags },
    headers: { 'user-agent': USER_AGENTS[model.provider], 'content-type': 'application/json' },
    reservations: [],
    reserved_microdollars: 0,
    input_tokens_approximate: usage.input,
    ...fingerprints,
  };
}

const USER_AGENTS = {
  prov_a: 'OpenAI/Python 2.8.0',
  prov_b: 'Anthropic/JS 1.8.0',
  prov_c: 'google-genai-sdk/2.32.0',
  prov_d: 'OpenAI/JS 7.53.0',
} as const;

/** What the proxy would have read from the request; the same for every call of one kind. */
function rememberedFacts(): (call: PastCall) => RequestFacts {
  const remembered = new Map<string, RequestFacts>();
  return ({ model, stream }) => {
    const key = `${model.provider} ${model.model} ${stream}`;
    const known = remembered.get(key);
    if (known) return known;
    const { path, headers, body } = exchangeOf(model, {
      stream,
      instructions: '',
      text: '',
      maxTokens: 1_024,
    });
    const bytes = Buffer.from(JSON.stringify(body));
    const facts = readRequest(model.provider, 'POST', path, headers['content-type'], bytes);
    remembered.set(key, facts);
    return facts;
  };
}
