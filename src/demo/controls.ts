import { MICRODOLLARS_PER_USD } from '../contract/money.ts';
import { type Period, periodOf } from '../server/domain/period.ts';
import { type Asking, granted } from './asking.ts';
import { CODE_REVIEW, LEGACY_IMPORTER, NIGHTLY_EVALS, RESEARCH_CRAWLER } from './company.ts';

const CENTS = 100;
/** Of a cent: so little is left that the next call cannot be let through. */
const TENTHS = 1_000;
const A_NIGHT_USD = 0.1;

/** What was spent of a period so far, by whom. Limits are set by it, so that the story fits any day of the month. */
interface Spending {
  totalUsd: number;
  teamUsd(name: string): number;
  serviceUsd(name: string): number;
  modelUsd(name: string): number;
  customerUsd(name: string): number;
  /** What it comes to by the end of the period at this rate. */
  projected(usd: number): number;
}

async function readSpending(asking: Asking, period: Period, nowMs: number): Promise<Spending> {
  const { startMs, endMs } = periodOf(period, nowMs);
  const query = { from: dayOf(startMs), to: dayOf(nowMs) };
  const answers = await Promise.all([
    asking.call('getUsageByTeam', { query }),
    asking.call('getUsageByService', { query }),
    asking.call('getUsageByModel', { query }),
    asking.call('getUsageByEndCustomer', { query }),
  ]);
  const { data: teams } = granted('spend by team', answers[0]);
  const { data: services } = granted('spend by service', answers[1]);
  const { data: models } = granted('spend by model', answers[2]);
  const { data: customers } = granted('spend by customer', answers[3]);
  const usdOf = (row: { cost_microdollars: number } | undefined) =>
    (row?.cost_microdollars ?? 0) / MICRODOLLARS_PER_USD;
  return {
    totalUsd: teams.reduce((sum, row) => sum + usdOf(row), 0),
    teamUsd: (name) => usdOf(teams.find((row) => row.team_name === name)),
    serviceUsd: (name) => usdOf(services.find((row) => row.service_name === name)),
    modelUsd: (name) => usdOf(models.find((row) => row.model_id === name)),
    customerUsd: (name) => usdOf(customers.find((row) => row.end_customer === name)),
    projected: (usd) => (usd * (endMs - startMs)) / (nowMs - startMs),
  };
}

/** As people set limits: to the cent, and never nothing. */
function limitUsd(usd: number, partsOfDollar = CENTS): number {
  return Math.ceil(usd * partsOfDollar) / partsOfDollar || 1 / partsOfDollar;
}

/** One of each kind, each in another plight. */
export async function setBudgets(asking: Asking, nowMs: number): Promise<{ nearLimitBudgetId: string }> {
  const month = await readSpending(asking, 'month', nowMs);
  const week = await readSpending(asking, 'week', nowMs);
  const today = await readSpending(asking, 'day', nowMs);
  const create = async (body: BudgetBody) => granted('a budget', await asking.call('createBudget', { body }));
  const near = await create({
    scope_type: 'team',
    scope_id: 'customer-support',
    amount_usd: limitUsd(month.teamUsd('Customer Support') / 0.93),
    mode: 'soft',
  });
  await create({ amount_usd: limitUsd(month.projected(month.totalUsd) * 1.1), mode: 'soft' });
  await create({
    scope_type: 'service',
    scope_id: NIGHTLY_EVALS.service,
    // Before the first of them has run tonight there is nothing to go by.
    amount_usd: limitUsd(today.serviceUsd(NIGHTLY_EVALS.service) || A_NIGHT_USD, TENTHS),
    period: 'daily',
    mode: 'hard',
  });
  await create({
    scope_type: 'agent',
    agent_name: RESEARCH_CRAWLER.agent!,
    amount_usd: limitUsd(month.projected(month.serviceUsd(RESEARCH_CRAWLER.service)) * 1.4),
    mode: 'hard',
  });
  await create({
    scope_type: 'agent',
    agent_name: CODE_REVIEW.agent!,
    amount_usd: limitUsd(week.serviceUsd(CODE_REVIEW.service)),
    period: 'weekly',
    mode: 'approval',
  });
  await create({
    scope_type: 'team',
    scope_id: 'growth',
    amount_usd: limitUsd(month.teamUsd('Growth')),
    mode: 'approval',
  });
  return { nearLimitBudgetId: near.id };
}

interface BudgetBody {
  scope_type?: 'organization' | 'team' | 'service' | 'agent';
  scope_id?: string;
  agent_name?: string;
  amount_usd: number;
  period?: 'daily' | 'weekly' | 'monthly';
  mode: 'soft' | 'hard' | 'approval';
}

/** One that will hold, one that will not, one that is past its limit, and one of a week. */
export async function setQuotas(asking: Asking, nowMs: number): Promise<void> {
  const month = await readSpending(asking, 'month', nowMs);
  const week = await readSpending(asking, 'week', nowMs);
  const create = async (
    dimension_type: 'model' | 'team' | 'end_customer' | 'tenant_total',
    dimension_value: string | null,
    period: 'week' | 'month',
    usd: number,
  ) => {
    const body = {
      dimension_type,
      ...(dimension_value !== null && { dimension_value }),
      period,
      limit_microdollars: Math.round(limitUsd(usd) * MICRODOLLARS_PER_USD),
    };
    granted('a quota', await asking.call('createSpendQuota', { body }));
  };
  await create('tenant_total', null, 'month', month.projected(month.totalUsd) * 1.3);
  const science = month.teamUsd('Data Science');
  // Between what is spent and what it will come to: it runs out on the way.
  await create('team', 'data-science', 'month', (science + month.projected(science)) / 2);
  await create('end_customer', 'globex', 'month', month.customerUsd('globex') * 0.9);
  const model = 'gemini-3.1-pro-preview';
  await create('model', model, 'week', week.projected(week.modelUsd(model)) * 0.95);
}

/** One that was lifted again, and one that still stands. */
export async function pullKillSwitches(asking: Asking): Promise<{ liftedId: string }> {
  const lifted = granted(
    'a kill switch',
    await asking.call('activateKillSwitch', {
      body: {
        scope_type: 'agent',
        scope_value: RESEARCH_CRAWLER.agent!,
        reason: 'runs in circles since the deploy; Nadia is looking',
      },
    }),
  );
  granted('lifting it', await asking.call('deactivateKillSwitch', { params: { id: lifted.id } }));
  granted(
    'a kill switch',
    await asking.call('activateKillSwitch', {
      body: {
        scope_type: 'service',
        scope_value: LEGACY_IMPORTER.service,
        reason: 'retired: move to campaign-copy',
      },
    }),
  );
  return { liftedId: lifted.id };
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
