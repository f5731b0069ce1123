import { describeScope, effectiveLimit, hasReached } from '../domain/budgets.ts';
import type { DayRange } from '../domain/day-range.ts';
import { type Digest, type DigestShare, digestWeeks, NEAR_LIMIT_PERCENT } from '../domain/digest.ts';
import { digestMail } from '../domain/digest-mail.ts';
import { listAlerts } from '../store/alerts.ts';
import { type BudgetStanding, listBudgetStandings } from '../store/budgets.ts';
import type { Db } from '../store/database.ts';
import { insertDigest, listTenantsForDigest } from '../store/digests.ts';
import { addSealedJob } from '../store/jobs.ts';
import { listFindings } from '../store/savings.ts';
import { findTenant, type TenantRow } from '../store/tenants.ts';
import { findUsageTotals, listTeamNames, listUsageByDimension } from '../store/usage.ts';
import type { JobParts, Task } from './task.ts';

const TOP_ROWS = 5;
const MAX_BUDGETS = 10;
const MAX_RECOMMENDATIONS = 3;
const MAX_ALERTS = 5;
const MAX_MAIL_ATTEMPTS = 25;
/** Last week's news is none next week. */
const MAIL_HOLDS_MS = 6 * 24 * 60 * 60 * 1000;

/**
 * One mail per tenant and week: the mark that it went out and the job that sends it are one transaction. Who
 * failed is tried again with the job's next attempt; who has theirs is not.
 */
export function sendDigests(parts: JobParts): Task {
  return async () => {
    const { week, before } = digestWeeks(parts.nowMs());
    const tenantIds = await parts.database.asSystem((db) =>
      listTenantsForDigest(db, { from: before.from, to: week.to }, week.from),
    );
    let firstFault: unknown;
    for (const tenantId of tenantIds) {
      try {
        await parts.database.asTenant(tenantId, (db) => sendDigest(db, parts, tenantId, week, before));
      } catch (error) {
        parts.log.warn({ err: error, tenantId }, 'a weekly digest could not be made');
        firstFault ??= error;
      }
    }
    if (firstFault !== undefined) throw firstFault;
  };
}

async function sendDigest(
  db: Db,
  parts: JobParts,
  tenantId: string,
  week: DayRange,
  before: DayRange,
): Promise<void> {
  if (!(await insertDigest(db, tenantId, week.from))) return;
  const tenant = await findTenant(db, tenantId);
  const digest = await composeDigest(db, tenant, week, before, parts.nowMs());
  const mail = digestMail(tenant.email, digest, parts.dashboardUrl);
  const job = { mail, holdsUntilMs: parts.nowMs() + MAIL_HOLDS_MS };
  await addSealedJob(db, parts.vault, 'send_mail', job, { maxAttempts: MAX_MAIL_ATTEMPTS });
}

async function composeDigest(
  db: Db,
  tenant: TenantRow,
  week: DayRange,
  before: DayRange,
  nowMs: number,
): Promise<Digest> {
  const { tenant_id: tenantId } = tenant;
  const used = await findUsageTotals(db, tenantId, { range: week });
  const usedBefore = await findUsageTotals(db, tenantId, { range: before });
  const page = { limit: TOP_ROWS, offset: 0 };
  const models = await listUsageByDimension(db, tenantId, 'model', { range: week }, page);
  const budgets = await listBudgetStandings(db, tenantId, nowMs);
  const findings = await listFindings(db, tenantId, { includeDismissed: false });
  const alerts = await listAlerts(db, tenantId, { acknowledged: false }, { limit: MAX_ALERTS, offset: 0 });
  return {
    tenantName: tenant.name,
    week,
    costMicrodollars: used.cost_microdollars,
    previousCostMicrodollars: usedBefore.cost_microdollars,
    requests: used.requests,
    topModels: models.rows.map((row) => share(row, row.name ?? 'unknown')),
    topTeams: await findTopTeams(db, tenantId, week),
    budgets: budgets.filter(isNearLimit).sort(nearestFirst).slice(0, MAX_BUDGETS).map(showBudget),
    savings: {
      totalMicrodollars: findings.reduce((sum, finding) => sum + finding.savings_microdollars, 0),
      recommendations: findings
        .slice(0, MAX_RECOMMENDATIONS)
        .map(({ recommendation_text }) => recommendation_text),
    },
    alerts: { open: alerts.total, newest: alerts.rows.map(({ severity, title }) => ({ severity, title })) },
  };
}

/** What no team spent is a row too; alone it would say nothing. */
async function findTopTeams(db: Db, tenantId: string, week: DayRange): Promise<DigestShare[]> {
  const { rows } = await listUsageByDimension(
    db,
    tenantId,
    'team',
    { range: week },
    { limit: TOP_ROWS, offset: 0 },
  );
  const ids = rows.flatMap((row) => row.name ?? []);
  if (ids.length === 0) return [];
  const names = await listTeamNames(db, tenantId, ids);
  return rows.map((row) => share(row, row.name === null ? 'no team' : (names.get(row.name) ?? row.name)));
}

function share(row: { cost_microdollars: number; requests: number }, name: string): DigestShare {
  return { name, costMicrodollars: row.cost_microdollars, requests: row.requests };
}

function isNearLimit(budget: BudgetStanding): boolean {
  return hasReached(budget.spend_microdollars, NEAR_LIMIT_PERCENT, limitOf(budget));
}

function nearestFirst(a: BudgetStanding, b: BudgetStanding): number {
  return b.spend_microdollars / limitOf(b) - a.spend_microdollars / limitOf(a);
}

function limitOf(budget: BudgetStanding): number {
  return effectiveLimit(budget.amount_microdollars, budget.granted_microdollars);
}

function showBudget(budget: BudgetStanding): Digest['budgets'][number] {
  const scope = { scopeType: budget.scope_type, scopeId: budget.scope_id, agentName: budget.agent_name };
  return {
    scope: describeScope(scope, budget.team_name),
    period: budget.period,
    spendMicrodollars: budget.spend_microdollars,
    limitMicrodollars: limitOf(budget),
  };
}
