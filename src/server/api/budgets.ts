import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import {
  type budgetsOperations,
  MAX_BUDGETS,
  MAX_LIMIT_USD,
  readBudgetPeriod,
  showBudgetPeriod,
} from '../../contract/budgets.ts';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd, MICRODOLLARS_PER_USD, parseUsd } from '../../contract/money.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import {
  type BudgetScope,
  budgetAlert,
  effectiveLimit,
  highestThreshold,
  readBudgetScope,
} from '../domain/budgets.ts';
import { periodOf } from '../domain/period.ts';
import { raiseAlert } from '../store/alerts.ts';
import { recordAudit } from '../store/audit.ts';
import { denyPendingApproval } from '../store/budget-approvals.ts';
import * as store from '../store/budgets.ts';
import type { Db } from '../store/database.ts';
import { findTeamByText } from '../store/team-directory.ts';
import { lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof budgetsOperations;
type Budget = ResponseOf<Operations['getBudget']>;

export function budgetsApi(parts: ApiParts): Handlers<Operations> {
  return {
    createBudget: createBudget(parts),
    listBudgets: async ({ caller: { tenantId } }) => {
      const standings = await parts.database.asTenant(tenantId, (db) =>
        store.listBudgetStandings(db, tenantId, parts.nowMs()),
      );
      return standings.map(show);
    },
    getBudget: ({ caller: { tenantId }, params }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const standing = await findByParam(db, tenantId, params.id, parts.nowMs());
        return standing ? show(standing) : refuse('not_found');
      }),
    updateBudget: updateBudget(parts),
    deleteBudget: ({ caller, params, ip }) =>
      parts.changeTenant(caller.tenantId, async (db) => {
        await lockTenant(db, caller.tenantId);
        const budget = await findByParam(db, caller.tenantId, params.id, parts.nowMs());
        if (!budget) return refuse('not_found');
        const at = new Date(parts.nowMs());
        await store.deleteBudget(db, caller.tenantId, budget.id, at);
        await denyPendingApproval(db, caller.tenantId, budget.id, { decidedBy: caller.email, at });
        await recordBudgetAudit(db, { caller, ip }, 'budget.deleted', budget);
        return undefined;
      }),
  };
}

function createBudget(parts: ApiParts): Handler<Operations['createBudget']> {
  return async ({ body, caller, ip }) => {
    const { tenantId } = caller;
    const asked = readBudgetScope({ ...body, scope_type: body.scope_type ?? 'organization' });
    if (isRefusal(asked)) return asked;
    const amountMicrodollars = readAmount(body.amount_usd);
    if (isRefusal(amountMicrodollars)) return amountMicrodollars;
    return parts.changeTenant(tenantId, async (db) => {
      await lockTenant(db, tenantId);
      const scope = await resolveTeam(db, tenantId, asked);
      if (isRefusal(scope)) return scope;
      if ((await store.countBudgets(db, tenantId)) >= MAX_BUDGETS)
        return refuse('limit_exceeded', `An account has at most ${MAX_BUDGETS} budgets.`);
      const nowMs = parts.nowMs();
      const id = uuidv7();
      await store.insertBudget(db, tenantId, {
        id,
        ...scope,
        amountMicrodollars,
        period: readBudgetPeriod(body.period ?? 'monthly'),
        mode: body.mode ?? 'soft',
        at: new Date(nowMs),
      });
      const [standing] = await store.listBudgetStandings(db, tenantId, nowMs, id);
      await recordBudgetAudit(db, { caller, ip }, 'budget.created', standing!);
      await tellIfPassed(db, tenantId, standing!);
      return show(standing!);
    });
  };
}

function updateBudget(parts: ApiParts): Handler<Operations['updateBudget']> {
  return async ({ body, caller, params, ip }) => {
    const { tenantId } = caller;
    const asked = body.amount_usd === undefined ? null : readAmount(body.amount_usd);
    if (isRefusal(asked)) return asked;
    return parts.changeTenant(tenantId, async (db) => {
      await lockTenant(db, tenantId);
      const nowMs = parts.nowMs();
      const budget = await findByParam(db, tenantId, params.id, nowMs);
      if (!budget) return refuse('not_found');
      const period = body.period === undefined ? budget.period : readBudgetPeriod(body.period);
      await store.updateBudget(db, tenantId, {
        id: budget.id,
        amountMicrodollars: asked ?? budget.amount_microdollars,
        period,
        mode: body.mode ?? budget.mode,
        at: new Date(nowMs),
      });
      if (period !== budget.period) {
        const periodStart = new Date(periodOf(period, nowMs).startMs);
        await store.recountBudgetPeriod(db, tenantId, budget, periodStart);
      }
      const [standing] = await store.listBudgetStandings(db, tenantId, nowMs, budget.id);
      await recordBudgetAudit(db, { caller, ip }, 'budget.updated', standing!);
      await tellIfPassed(db, tenantId, standing!);
      return show(standing!);
    });
  };
}

/** The contract has let positive numbers through; what is left to refuse is more than money can be. */
function readAmount(amountUsd: number): number | Refusal {
  const microdollars = amountUsd <= MAX_LIMIT_USD ? parseUsd(amountUsd) : null;
  return (
    microdollars ??
    refuse(
      'invalid_field',
      `The field "amount_usd" is not valid: it has at most six decimals and is at most ${MAX_LIMIT_USD}.`,
    )
  );
}

/** A team may be called by its id, slug or name; the budget keeps its id, which outlives a rename. */
async function resolveTeam(db: Db, tenantId: string, asked: BudgetScope): Promise<BudgetScope | Refusal> {
  if (asked.scopeType !== 'team') return asked;
  const team = await findTeamByText(db, tenantId, asked.scopeId!);
  if (team) return { ...asked, scopeId: team.id };
  return refuse(
    'invalid_field',
    'The field "scope_id" is not valid: it must be the id, slug or name of one of your teams.',
  );
}

/** A budget made or lowered below what is spent already would otherwise be passed without a word. */
async function tellIfPassed(db: Db, tenantId: string, row: store.BudgetStanding): Promise<void> {
  const limitMicrodollars = effectiveLimit(row.amount_microdollars, row.granted_microdollars);
  const threshold = highestThreshold(row.spend_microdollars, limitMicrodollars);
  if (!threshold) return;
  const budget = {
    id: row.id,
    period: row.period,
    mode: row.mode,
    scopeType: row.scope_type,
    scopeId: row.scope_id,
    agentName: row.agent_name,
  };
  const standing = {
    periodStartMs: row.period_start.getTime(),
    spendMicrodollars: row.spend_microdollars,
    limitMicrodollars,
  };
  await raiseAlert(db, { tenantId, ...budgetAlert(budget, threshold, standing, row.team_name) });
}

async function findByParam(
  db: Db,
  tenantId: string,
  id: string | undefined,
  nowMs: number,
): Promise<store.BudgetStanding | null> {
  if (id === undefined || !isUuid(id)) return null;
  const [standing] = await store.listBudgetStandings(db, tenantId, nowMs, id);
  return standing ?? null;
}

function recordBudgetAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  budget: store.BudgetRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'budget',
    resourceId: budget.id,
    ip,
    details: {
      scope_type: budget.scope_type,
      scope_id: budget.scope_id,
      agent_name: budget.agent_name,
      amount_usd: formatUsd(budget.amount_microdollars),
      period: showBudgetPeriod(budget.period),
      mode: budget.mode,
    },
  });
}

function show(row: store.BudgetStanding): Budget {
  const limit = effectiveLimit(row.amount_microdollars, row.granted_microdollars);
  return {
    id: row.id,
    scope_type: row.scope_type,
    scope_id: row.scope_id,
    agent_name: row.agent_name,
    // Six decimals divide exactly into the double nearest to them, which prints as they were given.
    amount_usd: row.amount_microdollars / MICRODOLLARS_PER_USD,
    period: showBudgetPeriod(row.period),
    mode: row.mode,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end.toISOString(),
    resets_at: row.period_end.toISOString(),
    current_spend_microdollars: row.spend_microdollars,
    current_spend_usd: formatUsd(row.spend_microdollars),
    reserved_microdollars: row.reserved_microdollars,
    reserved_usd: formatUsd(row.reserved_microdollars),
    effective_limit_microdollars: limit,
    effective_limit_usd: formatUsd(limit),
    utilization: row.spend_microdollars / limit,
    created_at: row.created_at.toISOString(),
  };
}
