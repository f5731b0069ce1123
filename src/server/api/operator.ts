import { isRefusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import type { operatorOperations } from '../../contract/operator.ts';
import { readDayRange } from '../domain/day-range.ts';
import { listAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { isJobKnown } from '../store/job-runs.ts';
import { addJob, type TaskName } from '../store/jobs.ts';
import { countAlerts, countTenants, listPlatformModels, sumPlatformUsage } from '../store/platform.ts';
import type { Handler, Handlers } from './handler.ts';
import { PLATFORM_TENANT, recordOperatorAudit } from './operator-audit.ts';
import { readPlatformHealth } from './operator-health.ts';
import { pageOf } from './page.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof operatorOperations;

const RECENT_DAYS = 30;
const TOP_MODELS = 20;
const DAY_MS = 86_400_000;
const FIRST_DAY = '1970-01-01';
const MAX_MAIL_FAULT_CHARACTERS = 300;

export function operatorApi(parts: ApiParts): Handlers<Operations> {
  return {
    verifyOperator: ({ ip }) =>
      parts.database.asSystem(async (db) => {
        await recordOperatorAudit(db, ip, { action: 'operator.verified' });
        return { valid: true };
      }),
    getPlatformStats: getPlatformStats(parts),
    listOperatorAudit: listOperatorAudit(parts),
    sendTestEmail: sendTestEmail(parts),
    getPlatformHealth: () => readPlatformHealth(parts),
    getAlertStats: getAlertStats(parts),
    recomputeSavings: ({ ip }) =>
      parts.database.asSystem((db) => queueJob(db, ip, 'compute_savings', 'savings.recompute_requested')),
    runJob: ({ params, ip }) =>
      parts.database.asSystem(async (db) => {
        const name = params.name!;
        if (name.includes('\0') || !(await isJobKnown(db, name))) return refuse('not_found');
        return queueJob(db, ip, name as TaskName, 'job.run_requested');
      }),
  };
}

async function queueJob(db: Db, ip: string, task: TaskName, action: string) {
  await addJob(db, task, {});
  await recordOperatorAudit(db, ip, { action, resourceType: 'job', resourceId: task });
  return { job: task, status: 'queued' as const };
}

function getPlatformStats(parts: ApiParts): Handler<Operations['getPlatformStats']> {
  return () =>
    parts.database.asSystem(async (db) => {
      const nowMs = parts.nowMs();
      const today = dayOf(nowMs);
      const recent = dayOf(nowMs - (RECENT_DAYS - 1) * DAY_MS);
      const figures = async (fromDay: string) => {
        const sums = await sumPlatformUsage(db, fromDay);
        return { ...sums, cost_usd: formatUsd(sums.cost_microdollars) };
      };
      return {
        tenants: await countTenants(db, new Date(nowMs - RECENT_DAYS * DAY_MS), recent),
        today: await figures(today),
        last_30_days: await figures(recent),
        all_time: await figures(FIRST_DAY),
        top_models: (await listPlatformModels(db, recent, TOP_MODELS)).map((row) => ({
          ...row,
          cost_usd: formatUsd(row.cost_microdollars),
        })),
      };
    });
}

function listOperatorAudit(parts: ApiParts): Handler<Operations['listOperatorAudit']> {
  return async ({ query }) => {
    const days = readDayRange(query);
    if (isRefusal(days)) return days;
    const filter = {
      ...(query.action !== undefined && { action: query.action }),
      from: new Date(`${days.from}T00:00:00Z`),
      until: new Date(Math.max(0, Date.parse(`${days.to}T00:00:00Z`) + DAY_MS)),
    };
    const page = pageOf(query);
    const { rows, total } = await parts.database.asSystem((db) =>
      listAudit(db, PLATFORM_TENANT, filter, page),
    );
    const data = rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
    return { data, total, ...page };
  };
}

/** Sent at once instead of queued: whoever tests the mail wants to hear what the mail server said. */
function sendTestEmail(parts: ApiParts): Handler<Operations['sendTestEmail']> {
  return async ({ body: { to }, ip }) => {
    const text = 'This is the test mail you asked for: Gateway can send mail.';
    const html = `<!doctype html><html lang="en"><body><p>${text}</p></body></html>`;
    try {
      await parts.mailer.send({ to, subject: 'Gateway test mail', text: `${text}\n`, html });
    } catch (error) {
      const fault = (error as Error).message.slice(0, MAX_MAIL_FAULT_CHARACTERS);
      return refuse('mail_failed', `The mail server did not take the mail: ${fault}`);
    }
    await parts.database.asSystem((db) =>
      recordOperatorAudit(db, ip, { action: 'email.tested', resourceType: 'email', details: { to } }),
    );
    return {
      to,
      status: 'sent' as const,
      via: parts.config.mail.smtpUrl ? ('smtp' as const) : ('outbox' as const),
    };
  };
}

function getAlertStats(parts: ApiParts): Handler<Operations['getAlertStats']> {
  return async () => {
    const since = new Date(parts.nowMs() - RECENT_DAYS * DAY_MS);
    const data = await parts.database.asSystem((db) => countAlerts(db, since));
    const sumBy = (name: 'alert_type' | 'severity') => {
      const sums: Record<string, number> = {};
      for (const row of data) sums[row[name]] = (sums[row[name]] ?? 0) + row.count;
      return sums;
    };
    return {
      window_days: RECENT_DAYS,
      total: data.reduce((sum, row) => sum + row.count, 0),
      acknowledged: data.reduce((sum, row) => sum + row.acknowledged, 0),
      by_type: sumBy('alert_type'),
      by_severity: sumBy('severity'),
      data,
    };
  };
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
