import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/server/adapters/log.ts';
import type { Mail } from '../../src/server/adapters/mailer.ts';
import { openVault } from '../../src/server/adapters/vault.ts';
import { sendDigests } from '../../src/server/jobs/digest.ts';
import { SCHEDULE } from '../../src/server/jobs/schedule.ts';
import type { JobParts } from '../../src/server/jobs/task.ts';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { openSealedJob } from '../../src/server/store/jobs.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

/** A Monday, so that the week told is 9 to 15 March. */
const NOW = '2026-03-16T08:00:00.000Z';
const USD = 1_000_000;

let gw: Gateway;
let database: Database;
let tenant: SignedUp;
const vault = openVault(Buffer.alloc(32, 1));

beforeAll(async () => {
  // Without a worker, so that queued mails stay where the tests can see them.
  gw = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 3, onIdleError: () => {} });
});
beforeEach(async () => {
  tenant = await gw.signUp({ name: 'Acme' });
});
afterEach(async () => {
  await gw.sql('delete from graphile_worker._private_jobs');
  await gw.sql('update tenants set digest_enabled = false');
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});

function run(now = NOW): Promise<void> {
  const parts = {
    database,
    vault,
    dashboardUrl: 'https://gateway.example',
    nowMs: () => Date.parse(now),
    log: createLogger('silent'),
  };
  return sendDigests(parts as unknown as JobParts)({});
}

async function queuedMails(): Promise<Mail[]> {
  const rows = await gw.sql<{ payload: unknown }>(
    `select payload from graphile_worker._private_jobs job
       join graphile_worker._private_tasks task on task.id = job.task_id
      where task.identifier = 'send_mail' order by job.id`,
  );
  return rows.map(({ payload }) => (openSealedJob(vault, 'send_mail', payload) as { mail: Mail }).mail);
}

const spend = (dollars: number, day: string, fields: Record<string, unknown> = {}) => ({
  created_at: `${day}T12:00:00.000Z`,
  cost_microdollars: dollars * USD,
  ...fields,
});

describe('the weekly digest', () => {
  it('runs on Mondays at 08:00 UTC, and is made up for when nobody was there', () => {
    expect(SCHEDULE.find(({ task }) => task === 'send_digests')).toMatchObject({
      at: '0 8 * * 1',
      catchUpMs: 3 * 86_400_000,
    });
  });

  it('tells spend, change, models, teams, budgets near their limit, savings and open alerts', async () => {
    const { token, tenantId } = tenant;
    const { json: team } = await gw.call('POST', '/v1/teams', { token, body: { name: 'Search' } });
    const ofTeam = { team_id: team.id, team_slug: team.slug };
    await recordRequests(gw, tenantId, [
      spend(100, '2026-03-02'),
      spend(99, '2026-03-08', { model_id: 'before' }),
      spend(150, '2026-03-09', { model_id: 'gpt-5' }),
      spend(100, '2026-03-15', { model_id: 'claude', ...ofTeam }),
      spend(77, '2026-03-16', { model_id: 'after' }),
    ]);
    await gw.sql(
      `insert into budgets (tenant_id, id, scope_type, scope_id, amount_microdollars, period, mode)
       values ($1, gen_random_uuid(), 'organization', null, 600000000, 'month', 'soft'),
              ($1, gen_random_uuid(), 'organization', null, 500000000, 'month', 'soft'),
              ($1, gen_random_uuid(), 'organization', null, 550000000, 'month', 'soft'),
              ($1, gen_random_uuid(), 'team', $2, 5000000000, 'month', 'soft')`,
      [tenantId, team.id],
    );
    await gw.sql(
      `insert into savings_findings (tenant_id, id, finding_type, provider, model_id, service_name, period_start,
         period_end, current_cost_microdollars, optimized_cost_microdollars, savings_microdollars,
         recommendation_text, created_at)
       values ($1, gen_random_uuid(), 'small_token_requests', 'prov_a', 'gpt-5', '', now(), now(), 50000000,
               20000000, 30000000, 'Use a smaller model for small prompts.', now())`,
      [tenantId],
    );
    await database.asSystem((db) =>
      raiseAlert(db, {
        tenantId,
        type: 'model_change',
        severity: 'warning',
        title: 'gpt-5 is now answered by another',
        metadata: {},
        cause: 'test',
      }),
    );
    await run();
    const [mail, ...more] = await queuedMails();
    expect(more).toEqual([]);
    expect(mail).toMatchObject({
      to: tenant.email,
      subject: '[Gateway] 9–15 Mar 2026: $250.00, 26 % more than the week before',
    });
    for (const line of [
      'Acme: your week in Gateway',
      '  $250.00, 26 % more than the week before (2 requests)',
      '  $150.00  gpt-5   60 %, 1 request',
      '  $100.00  claude  40 %, 1 request',
      '  $150.00  no team  60 %, 1 request',
      '  $100.00  Search   40 %, 1 request',
      'Savings found: $30.00 in 30 days',
      '  Use a smaller model for small prompts.',
      '1 open alert',
      '  warning  gpt-5 is now answered by another',
    ]) {
      expect(mail!.text.split('\n')).toContain(line);
    }
    expect(mail!.text).toContain(`Budgets near their limit
  105 %  the organization  $526.00 of $500.00 this month
   95 %  the organization  $526.00 of $550.00 this month
   87 %  the organization  $526.00 of $600.00 this month
`);
    expect(mail!.text).not.toMatch(/before\s+\$|after\b|team Search/);
  });

  it('goes out once per tenant and week, however often and on however many nodes the job runs', async () => {
    await recordRequests(gw, tenant.tenantId, [spend(1, '2026-03-10')]);
    await Promise.all([run(), run(), run()]);
    await run('2026-03-18T11:00:00.000Z');
    expect(await queuedMails()).toHaveLength(1);
    await run('2026-03-23T08:00:00.000Z');
    expect((await queuedMails()).map(({ subject }) => subject)).toEqual([
      '[Gateway] 9–15 Mar 2026: $1.00, nothing the week before',
      '[Gateway] 16–22 Mar 2026: $0.00, 100 % less than the week before',
    ]);
  });

  it('is not sent to who does not want it, has left, or had no traffic in two weeks', async () => {
    const [unwilling, gone, quiet] = [tenant, await gw.signUp(), await gw.signUp()];
    for (const { tenantId } of [unwilling, gone])
      await recordRequests(gw, tenantId, [spend(5, '2026-03-10')]);
    await recordRequests(gw, quiet.tenantId, [spend(5, '2026-03-01'), spend(5, '2026-03-16')]);
    await gw.call('PUT', '/v1/account', { token: unwilling.token, body: { digest_enabled: false } });
    await gw.call('DELETE', '/v1/account', { token: gone.token });
    await run();
    expect(await queuedMails()).toEqual([]);
  });

  it('of one tenant that cannot be made holds up no other, and is made when it can', async () => {
    const fine = await gw.signUp();
    for (const { tenantId } of [tenant, fine]) await recordRequests(gw, tenantId, [spend(5, '2026-03-10')]);
    await gw.sql(
      `create function gateway.refuse_one() returns trigger language plpgsql as
       $$ begin if new.tenant_id = '${tenant.tenantId}' then raise 'no'; end if; return new; end $$`,
    );
    await gw.sql(
      'create trigger refuse_one before insert on digests for each row execute function refuse_one()',
    );
    await expect(run()).rejects.toThrow('no');
    expect((await queuedMails()).map(({ to }) => to)).toEqual([fine.email]);
    await gw.sql('drop trigger refuse_one on digests');
    await run();
    expect((await queuedMails()).map(({ to }) => to)).toEqual([fine.email, tenant.email]);
  });
});
