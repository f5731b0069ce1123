import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import { costAtMost } from '../domain/admission.ts';
import type { Attribution } from '../domain/attribution.ts';
import { type Budget, budgetMatches, describeScope } from '../domain/budgets.ts';
import { findKill, refuseKilled } from '../domain/kill-switches.ts';
import { periodOf } from '../domain/period.ts';
import { findPrice } from '../domain/price-book.ts';
import type { AdmittedRequest } from '../domain/request-record.ts';
import { tokensAtMost } from '../domain/token-bound.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Caller } from './identify.ts';
import type { LeaseKeeper, Shortage } from './lease-keeper.ts';
import type { OutputHistory } from './output-history.ts';
import type { RequestFacts } from './providers/index.ts';
import type { Reservation } from './reservation.ts';
import type { Snapshots } from './snapshot.ts';

export interface AdmissionParts {
  snapshots: Snapshots;
  leases: LeaseKeeper;
  history: OutputHistory;
  approvals: ApprovalDesk;
}

export interface Question {
  caller: Caller;
  request: AdmittedRequest;
  attribution: Attribution;
  facts: RequestFacts;
  body: Buffer;
}

/** Let through, with what it goes out with and what it has reserved. */
export interface Admission {
  providerKey: string;
  reservation: Reservation | null;
}

/** Whether a request may go: kill switch, provider key, budgets, in this order, from memory. */
export async function admit(parts: AdmissionParts, question: Question): Promise<Admission | Refusal> {
  const { caller, attribution, request } = question;
  const kill = findKill(caller.tenant.killSwitches, {
    teamId: attribution.team?.id ?? null,
    teamSlug: attribution.team?.slug ?? null,
    teamName: attribution.team?.name ?? null,
    service: attribution.service,
    agent: attribution.agent,
    apiKeyId: caller.key.id,
    apiKeyPrefix: caller.key.prefix,
  });
  if (kill) return refuseKilled(kill);
  const providerKey = caller.tenant.providerKeys.get(request.provider);
  if (providerKey === undefined) return refuse('provider_key_missing');
  const reservation = await reserveBudgets(parts, question);
  return isRefusal(reservation) ? reservation : { providerKey, reservation };
}

async function reserveBudgets(
  parts: AdmissionParts,
  question: Question,
): Promise<Reservation | Refusal | null> {
  const { caller, attribution, request } = question;
  const facts = {
    teamId: attribution.team?.id ?? null,
    service: attribution.service,
    agent: attribution.agent,
  };
  const blocking = caller.tenant.budgets.filter(
    (budget) => budget.mode !== 'soft' && budgetMatches(budget, facts),
  );
  if (blocking.length === 0) return null;
  const amount = estimate(parts, question);
  if (amount === 0) return null;
  const admittedAtMs = Date.parse(request.created_at);
  const reserved = blocking.map((budget) => ({
    id: budget.id,
    periodStartMs: periodOf(budget.period, admittedAtMs).startMs,
  }));
  const outcome = await parts.leases.reserve(request.tenant_id, reserved, amount);
  if (outcome.kind === 'reserved') return outcome;
  const budget = blocking.find(({ id }) => id === outcome.budgetId)!;
  if (budget.mode === 'approval' && outcome.standing) {
    await parts.approvals.ask(request.tenant_id, budget.id, shortageFigures(outcome, amount));
  }
  return refuseOverBudget(budget, outcome, amount, admittedAtMs);
}

/** What the request can cost at most, in microdollars; nothing when it is free or its model has no price. */
function estimate(parts: AdmissionParts, { request, facts, body }: Question): number {
  if (facts.kind === 'free' || facts.kind === 'reread' || request.method === 'GET') return 0;
  const admittedAtMs = Date.parse(request.created_at);
  const found = findPrice(
    parts.snapshots.prices,
    request.provider,
    request.model_requested,
    parts.history.servedModel(request.provider, request.model_requested),
    admittedAtMs,
  );
  if (!found) return 0;
  const output =
    facts.outputCap ?? parts.history.outputTokensAtMost(request.tenant_id, request.model_requested);
  const cost = costAtMost(
    found.price,
    {
      provider: request.provider,
      inputTokensAtMost: tokensAtMost(body),
      outputTokensAtMost: output,
      choices: facts.choices,
      tierRequested: facts.tierRequested,
      regionRequested: facts.regionRequested,
      mentions: {
        cacheControl: body.includes('"cache_control"'),
        cacheOneHour: body.includes('"1h"'),
        audio: body.includes('"audio"') || body.includes('audio/'),
        webSearch: body.includes('web_search'),
      },
    },
    admittedAtMs,
  );
  return cost;
}

function shortageFigures(shortage: Shortage, amount: number): Record<string, unknown> {
  const standing = shortage.standing;
  return {
    limit_usd: standing && formatUsd(standing.limitMicrodollars),
    spent_usd: standing && formatUsd(standing.committedMicrodollars),
    reserved_usd: standing && formatUsd(standing.leasedMicrodollars),
    estimated_usd: formatUsd(amount),
  };
}

/** The shortest wait worth suggesting while the budget cannot be asked for more. */
const STORE_AWAY_RETRY_SECONDS = 5;

function refuseOverBudget(budget: Budget, shortage: Shortage, amount: number, admittedAtMs: number): Refusal {
  const resetsAtMs = periodOf(budget.period, admittedAtMs).endMs;
  const message = shortage.standing
    ? `The budget for ${describeScope(budget, null)} would be passed by this request.`
    : `The budget for ${describeScope(budget, null)} cannot be extended right now; this node has used up its share.`;
  const retryAfter = shortage.standing
    ? Math.ceil((resetsAtMs - admittedAtMs) / 1000)
    : STORE_AWAY_RETRY_SECONDS;
  return refuse('budget_exceeded', message, {
    budget_id: budget.id,
    scope: budget.scopeType,
    ...shortageFigures(shortage, amount),
    resets_at: new Date(resetsAtMs).toISOString(),
    retry_after_seconds: retryAfter,
  });
}
