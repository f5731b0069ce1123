import type { Logger } from '../server/adapters/log.ts';
import { BUDGET_THRESHOLDS, budgetAlert } from '../server/domain/budgets.ts';
import { periodOf } from '../server/domain/period.ts';
import { raiseAlert } from '../server/store/alerts.ts';
import type { Database } from '../server/store/database.ts';
import { loadPriceBook } from '../server/store/prices.ts';
import { type Askers, granted } from './asking.ts';
import { type Chance, makeChance } from './chance.ts';
import { WORKLOADS } from './company.ts';
import { pullKillSwitches, setBudgets, setQuotas } from './controls.ts';
import {
  DAY_MS,
  HISTORY_DAYS,
  type HistoryPlan,
  KILLED_DAYS_AGO,
  KILLED_FOR_MS,
  type PastCall,
  planHistory,
  runawayHours,
} from './history.ts';
import { reconcileInvoices } from './invoices.ts';
import type { LocalServices } from './local-services.ts';
import { detectAnomaliesAsOf, operate, runJobs } from './operations.ts';
import {
  moveAlerts,
  moveControls,
  moveKillSwitch,
  moveModelChanges,
  moveOpening,
  shareFigures,
} from './past.ts';
import { recordPast } from './recording.ts';
import type { DemoState } from './state.ts';
import { openCompany, openNeighbours, openReceivers, type Tenant } from './tenants.ts';
import { askPastTheBudget } from './traffic.ts';

/** The others are small: together they make a tenth of the calls. */
const NEIGHBOUR_SHARE = 0.035;
/** Of the company's own calls: the thirty days before, so that there is something to compare with. */
const EARLIER_SHARE = 0.38;
const OPENED_DAYS_AGO = 2 * HISTORY_DAYS + 10;
const CONTROLLED_DAYS_AGO = HISTORY_DAYS - 5;
const HOUR_MS = 3_600_000;
const JOBS = ['scrape_prices', 'compute_savings', 'detect_anomalies', 'build_cost_index', 'check_quotas'];

export interface StoryParts {
  askers: Askers;
  database: Database;
  dataDir: string;
  ledgerSecret: string;
  local: LocalServices;
  proxyUrl: string;
  log: Logger;
  /** Told what is being done. */
  say(line: string): void;
  signal: AbortSignal;
}

/** Tells the whole story, from the sign-up seventy days ago to the approval that waits now. */
export async function tellStory(parts: StoryParts, state: DemoState): Promise<DemoState> {
  const { askers, database, signal, say } = parts;
  const nowMs = Date.now();
  say('signing up, as of seventy days ago');
  const [company, neighbours] = await Promise.all([openCompany(askers, WORKLOADS), openNeighbours(askers)]);
  const tenantIds = [company, ...neighbours].map((tenant) => tenant.tenantId);
  const opened = new Date(nowMs - OPENED_DAYS_AGO * DAY_MS);
  await database.asSystem((db) => moveOpening(db, tenantIds, opened));
  signal.throwIfAborted();
  say(
    `writing ${state.requests.toLocaleString('en-US')} calls of ${2 * HISTORY_DAYS} days (seed ${state.seed})`,
  );
  await recordMonth(parts, state, company, neighbours, nowMs);
  await database.asSystem((db) => shareFigures(db, tenantIds));
  say('looking back: anomalies, budgets, quotas, savings, prices, invoices');
  await lookBack(parts, company, nowMs);
  signal.throwIfAborted();
  await openReceivers(company.asking, parts.local);
  await takeControl(parts, company, nowMs);
  signal.throwIfAborted();
  await operate(askers.operator, company, nowMs);
  await runJobs(askers.operator, JOBS, signal);
  await reconcileInvoices(company.asking, { apiUrl: askers.apiUrl, token: company.token }, nowMs);
  await settleSome(company);
  const { email, password, keys } = company;
  return { ...state, told: true, email, password, keys };
}

async function recordMonth(
  parts: StoryParts,
  state: DemoState,
  company: Tenant,
  neighbours: readonly Tenant[],
  nowMs: number,
): Promise<void> {
  const chance = makeChance(state.seed);
  const prices = await parts.database.asSystem(loadPriceBook);
  const share = Math.ceil(state.requests * NEIGHBOUR_SHARE);
  const own = state.requests - neighbours.length * share;
  const past = [company, ...neighbours].flatMap(({ caller, workloads }) => {
    const plan = { nowMs, requests: share, workloads, eventful: false };
    const calls =
      caller === company.caller
        ? planTwoMonths({ ...plan, requests: own }, chance)
        : planHistory(plan, chance);
    return calls.map((call) => ({ caller, call }));
  });
  past.sort((a, b) => a.call.atMs - b.call.atMs);
  await recordPast({ ...parts, prices }, past, chance, parts.signal);
}

/** The month of the tour with its adventures, and a quieter one before it. */
function planTwoMonths(plan: HistoryPlan, chance: Chance): PastCall[] {
  const requests = Math.ceil(plan.requests * EARLIER_SHARE);
  const endMs = plan.nowMs - HISTORY_DAYS * DAY_MS;
  return [
    ...planHistory({ ...plan, requests, endMs }, chance),
    ...planHistory({ ...plan, requests: plan.requests - requests, eventful: true }, chance),
  ];
}

/** What was noticed in that month, when it was noticed, by the jobs that notice it. */
async function lookBack({ database, log }: StoryParts, { tenantId }: Tenant, nowMs: number): Promise<void> {
  const { earlier } = runawayHours(nowMs);
  await detectAnomaliesAsOf({ database, log }, earlier + HOUR_MS);
  await database.asTenant(tenantId, async (db) => {
    await moveModelChanges(db, tenantId);
    const at = new Date(earlier + HOUR_MS);
    const acknowledgedAt = new Date(earlier + 2 * HOUR_MS);
    await moveAlerts(db, tenantId, { causeBeginsWith: 'anomaly:', at, acknowledgedAt });
  });
}

/** Budgets, quotas and switches, and the calls that run into them. */
async function takeControl(parts: StoryParts, company: Tenant, nowMs: number): Promise<void> {
  const { asking, tenantId, keys } = company;
  const { database, proxyUrl } = parts;
  const { nearLimitBudgetId } = await setBudgets(asking, nowMs);
  await setQuotas(asking, nowMs);
  const { liftedId } = await pullKillSwitches(asking);
  const from = new Date(nowMs - KILLED_DAYS_AGO * DAY_MS);
  const to = new Date(from.getTime() + KILLED_FOR_MS);
  await database.asTenant(tenantId, async (db) => {
    await moveKillSwitch(db, tenantId, liftedId, { from, to });
    await moveControls(db, tenantId, new Date(nowMs - CONTROLLED_DAYS_AGO * DAY_MS));
  });
  await tellHalfSpent(parts, company, nearLimitBudgetId, nowMs);
  // As of the story's own hour: the job that runs below may already be in the next.
  await detectAnomaliesAsOf(parts, nowMs);
  await askPastTheBudget({
    proxyUrl,
    keys,
    workloads: company.workloads,
    callsPerSecond: 0,
    chance: makeChance(0),
  });
}

/** The budget that is nearly used up was half used up before that, and somebody saw it. */
async function tellHalfSpent(
  { database }: StoryParts,
  { asking, tenantId }: Tenant,
  budgetId: string,
  nowMs: number,
): Promise<void> {
  const budget = granted('the budget', await asking.call('getBudget', { params: { id: budgetId } }));
  const half = BUDGET_THRESHOLDS.find(({ percent }) => percent === 50)!;
  const { startMs } = periodOf('month', nowMs);
  const limitMicrodollars = budget.effective_limit_microdollars;
  const alert = budgetAlert(
    {
      id: budget.id,
      period: 'month',
      mode: 'soft',
      scopeType: 'team',
      scopeId: budget.scope_id,
      agentName: null,
    },
    half,
    { periodStartMs: startMs, spendMicrodollars: Math.ceil(limitMicrodollars / 2), limitMicrodollars },
    'Customer Support',
  );
  const at = new Date(startMs + (nowMs - startMs) / 2);
  await database.asTenant(tenantId, async (db) => {
    await raiseAlert(db, { tenantId, ...alert });
    const acknowledgedAt = new Date(at.getTime() + HOUR_MS);
    await moveAlerts(db, tenantId, { causeBeginsWith: alert.cause, at, acknowledgedAt });
  });
}

/** Somebody has begun to tidy up: an approval is granted, an alert is seen, a finding is put aside. */
async function settleSome({ asking }: Tenant): Promise<void> {
  const query = { status: 'pending' as const };
  const { data: waiting } = granted('approvals', await asking.call('listBudgetApprovals', { query }));
  const [newest, ...others] = waiting;
  if (newest && others.length > 0) {
    const grant = { params: { id: newest.id }, body: { extra_usd: 25, duration_hours: 48 } };
    granted('an approval', await asking.call('approveBudgetApproval', grant));
  }
  const open = { query: { acknowledged: false } };
  const { data: alerts } = granted('alerts', await asking.call('listAlerts', open));
  const oldest = alerts.at(-1);
  if (oldest) granted('an alert', await asking.call('acknowledgeAlert', { params: { id: oldest.id } }));
  const findings = granted('savings', await asking.call('listSavings'));
  const least = findings.at(-1);
  if (least && findings.length > 3)
    granted('a finding', await asking.call('dismissSaving', { params: { id: least.id } }));
}
