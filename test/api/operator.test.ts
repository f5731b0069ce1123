import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/index.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { waitForMails } from './outbox.ts';
import { recordRequests } from './recorded-requests.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const DAY_MS = 86_400_000;

let gw: Gateway;
let tenant: SignedUp & { key: string };

const operator = (method: string, path: string, body?: unknown) =>
  gw.call(method, `/v1/operator${path}`, { token: gw.operatorToken, body });
const outcome = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await operator(method, path, body);
  return [status, json?.error];
};
const lastPlatformAudit = async () => (await operator('GET', '/audit?limit=1')).json.data[0];

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => NOW });
  tenant = await gw.onboard();
  const request = (daysAgo: number, cost: number, status = 200) => ({
    created_at: new Date(NOW - daysAgo * DAY_MS).toISOString(),
    cost_microdollars: cost,
    status_code: status,
    reservations: [],
  });
  await recordRequests(gw, tenant.tenantId, [
    request(0, 100),
    request(0, 10, 500),
    request(20, 1000),
    request(40, 10_000),
  ]);
});
afterAll(() => gw.stop());

describe('every operator endpoint', () => {
  const rows = (Object.entries(operations) as Array<[string, Operation]>).filter(
    ([, row]) => row.auth === 'operator',
  );

  test.each(rows)('%s is closed to everyone but the operator', async (_name, row) => {
    const path = row.path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000');
    for (const token of [undefined, 'wrong', tenant.token, tenant.key, `${gw.operatorToken}x`]) {
      const answer = await gw.call(row.method, path, { token, body: row.body ? {} : undefined });
      expect([answer.status, answer.json.error]).toEqual([401, 'unauthorized']);
    }
  });

  test('of the specification is there', () => {
    const paths = rows.map(([, row]) => `${row.method} ${row.path}`);
    expect(paths).toEqual(
      expect.arrayContaining([
        'POST /v1/operator/auth/verify',
        'GET /v1/operator/tenants',
        'GET /v1/operator/tenants/{id}',
        'PUT /v1/operator/tenants/{id}',
        'GET /v1/operator/stats',
        'GET /v1/operator/models',
        'POST /v1/operator/models',
        'PUT /v1/operator/models/{id}',
        'GET /v1/operator/models/changes',
        'POST /v1/operator/models/changes',
        'POST /v1/operator/email/test',
        'GET /v1/operator/health',
        'GET /v1/operator/alerts/stats',
        'POST /v1/operator/savings/recompute',
        'GET /v1/operator/pricing-candidates',
        'POST /v1/operator/pricing-candidates/{id}/approve',
        'POST /v1/operator/pricing-candidates/{id}/reject',
        'POST /v1/operator/scraper/run',
        'POST /v1/operator/jobs/{name}/run',
      ]),
    );
  });

  test('verify says that the token is right, and is on record', async () => {
    const { status, json } = await operator('POST', '/auth/verify');
    expect([status, json]).toEqual([200, { valid: true }]);
    expect(await lastPlatformAudit()).toMatchObject({
      action: 'operator.verified',
      actor_type: 'operator',
      tenant_id: '00000000-0000-0000-0000-000000000000',
      ip_address: '127.0.0.1',
    });
  });
});

describe('tenants', () => {
  test('are listed newest first, in pages, with what they used', async () => {
    const { json } = await operator('GET', '/tenants?limit=1');
    expect(json).toMatchObject({ limit: 1, offset: 0 });
    const { json: all } = await operator('GET', '/tenants');
    expect(all.total).toBe(all.data.length);
    expect(all.data.find((row: { tenant_id: string }) => row.tenant_id === tenant.tenantId)).toMatchObject({
      email: tenant.email,
      status: 'active',
      plan_tier: 'free',
      requests_30_days: 3,
      cost_30_days_microdollars: 1110,
      cost_30_days_usd: '0.001110',
    });
  });

  test('are found by name, e-mail address or id, wildcards meaning themselves', async () => {
    const odd = await gw.signUp({ name: '100%_sure\\' });
    const found = async (search: string) =>
      (await operator('GET', `/tenants?search=${encodeURIComponent(search)}`)).json.data.map(
        (row: { tenant_id: string }) => row.tenant_id,
      );
    for (const search of ['100%_', '%_SURE', 'sure\\', odd.email.toUpperCase(), odd.tenantId]) {
      expect([search, await found(search)]).toEqual([search, [odd.tenantId]]);
    }
    expect(await found('1%0')).toEqual([]);
    expect(await found("' or 1=1 --")).toEqual([]);
    expect((await operator('GET', '/tenants?status=suspended')).json.total).toBe(0);
  });

  test('show plan, usage, stored keys without their material, and recent audit', async () => {
    const { status, json, text } = await operator('GET', `/tenants/${tenant.tenantId}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      tenant_id: tenant.tenantId,
      subscription: { plan_tier: 'free', included_requests: 10_000, used_requests: 2, status: 'active' },
      usage: {
        last_30_days: { requests: 3, errors: 1, cost_microdollars: 1110, cost_usd: '0.001110' },
        this_month: { requests: 2, cost_microdollars: 110 },
        top_models: [{ provider: 'prov_a', model_id: 'gpt-5', requests: 3, cost_microdollars: 1110 }],
      },
      api_keys: { active: 1, revoked: 0 },
    });
    expect(json.provider_keys.map((key: { provider: string }) => key.provider).sort()).toEqual([
      'prov_a',
      'prov_b',
      'prov_c',
      'prov_d',
    ]);
    expect(json.recent_audit.map((row: { action: string }) => row.action)).toContain('api_key.created');
    for (const secret of ['sk-upstream', 'sealed', 'password', 'wrapped', tenant.key])
      expect(text).not.toContain(secret);
  });

  test('can be put on another plan and suspended, which closes API and proxy at once and is in their own log', async () => {
    const other = await gw.onboard();
    const body = { model: 'gpt-5', messages: [{ role: 'user', content: 'hello' }] };
    const proxied = async () =>
      (await gw.proxy('/prov_a/v1/chat/completions', { key: other.key, body })).status;
    expect(await proxied()).toBe(200);
    const changed = await operator('PUT', `/tenants/${other.tenantId}`, {
      plan_tier: 'scale',
      status: 'suspended',
      included_requests: 5,
      notes: 'owes us money',
    });
    expect(changed.json).toMatchObject({
      plan_tier: 'scale',
      status: 'suspended',
      included_requests: 5,
      notes: 'owes us money',
    });
    expect(await proxied()).toBe(401);
    expect((await gw.call('GET', '/v1/account', { token: other.token })).status).toBe(401);
    const reopened = await operator('PUT', `/tenants/${other.tenantId}`, { status: 'active' });
    expect(reopened.json).toMatchObject({ plan_tier: 'scale', notes: 'owes us money' });
    expect(await proxied()).toBe(200);
    await gw.logged(other.token, 2);
    const { json: audit, text } = await gw.call('GET', '/v1/audit?actor_type=operator', {
      token: other.token,
    });
    expect(audit.data.map((row: { action: string; details: unknown }) => [row.action, row.details])).toEqual([
      ['tenant.updated', { status: { from: 'suspended', to: 'active' } }],
      [
        'tenant.updated',
        {
          plan_tier: { from: 'free', to: 'scale' },
          status: { from: 'active', to: 'suspended' },
          included_requests: { from: 10_000, to: 5 },
        },
      ],
    ]);
    expect(text).not.toContain('owes');
  });

  test('that do not exist, or changes that are not allowed, are refused', async () => {
    const path = `/tenants/${tenant.tenantId}`;
    const missing = '/tenants/00000000-0000-7000-8000-000000000000';
    expect(await outcome('GET', missing)).toEqual([404, 'not_found']);
    expect(await outcome('GET', '/tenants/nonsense')).toEqual([404, 'not_found']);
    expect(await outcome('PUT', missing, { plan_tier: 'x' })).toEqual([404, 'not_found']);
    expect(await outcome('PUT', path, { status: 'happy' })).toEqual([400, 'invalid_field']);
    expect(await outcome('PUT', path, { included_requests: -1 })).toEqual([400, 'invalid_field']);
    expect(await outcome('PUT', path, { plan_tier: 'Very Big' })).toEqual([400, 'invalid_field']);
    const warned = await operator('PUT', path, { name: 'ignored' });
    expect(warned.headers.get('warning')).toContain('name');
  });
});

describe('the platform', () => {
  test('is summed up over all tenants', async () => {
    const { status, json } = await operator('GET', '/stats');
    expect(status).toBe(200);
    const [all] = await gw.sql<{ cost: number; requests: number }>(
      'select sum(cost_microdollars)::bigint as cost, sum(requests)::bigint as requests from usage_daily',
    );
    expect(json.all_time).toMatchObject({ cost_microdollars: all!.cost, requests: all!.requests });
    expect(json.all_time.cost_microdollars - json.last_30_days.cost_microdollars).toBe(10_000);
    expect(json.last_30_days.cost_microdollars - json.today.cost_microdollars).toBe(1000);
    expect(json.tenants.total).toBe(json.tenants.active);
    expect(json.top_models[0]).toMatchObject({ provider: 'prov_a', model_id: 'gpt-5', tenants: 1 });
  });

  test('counts alerts by type and severity', async () => {
    await gw.sql(
      `insert into alerts (tenant_id, id, alert_type, severity, title, cause, acknowledged, created_at)
       select $1, gen_random_uuid(), 'cost_anomaly', severity, 't', 'test:' || n, n = 1, $2::timestamptz
         from (values (1, 'warning'), (2, 'warning'), (3, 'critical')) as made (n, severity)`,
      [tenant.tenantId, new Date(NOW - DAY_MS)],
    );
    const { json } = await operator('GET', '/alerts/stats');
    expect(json).toMatchObject({ window_days: 30, by_type: { cost_anomaly: 3 } });
    expect(json.data.filter((row: { alert_type: string }) => row.alert_type === 'cost_anomaly')).toEqual([
      { alert_type: 'cost_anomaly', severity: 'critical', count: 1, acknowledged: 0, tenants: 1 },
      { alert_type: 'cost_anomaly', severity: 'warning', count: 2, acknowledged: 1, tenants: 1 },
    ]);
  });

  test('shows pools, jobs with last and next run, and queues', async () => {
    expect((await operator('POST', '/jobs/prune_control_changes/run')).json).toEqual({
      job: 'prune_control_changes',
      status: 'queued',
    });
    await eventually(async () => {
      const { json } = await operator('GET', '/health');
      expect(json.pools.api).toMatchObject({
        total: expect.any(Number),
        idle: expect.any(Number),
        waiting: 0,
      });
      expect(json.node.journal).toMatchObject({ records_pending: 0, max_bytes: expect.any(Number) });
      const job = json.jobs.find((row: { name: string }) => row.name === 'prune_control_changes');
      expect(job).toMatchObject({ schedule: '*/10 * * * *', last_error: null, running: false });
      expect(job.last_finished_at).not.toBeNull();
      expect(Date.parse(job.next_run_at)).toBeGreaterThan(NOW);
      expect(json.jobs.map((row: { name: string }) => row.name)).toEqual(
        expect.arrayContaining(['compute_savings', 'scrape_prices', 'correct_unpriced']),
      );
    });
    expect(await lastPlatformAudit()).toMatchObject({
      action: 'job.run_requested',
      resource_id: 'prune_control_changes',
    });
  });

  test('shows a job that waits in the queue, and nothing of what is in it', async () => {
    await gw.sql(
      `select graphile_worker.add_job('some_task', '{"secret":"hidden"}', run_at => now() + interval '1 hour')`,
    );
    const { json, text } = await operator('GET', '/health');
    expect(json.queues.find((row: { task: string }) => row.task === 'some_task')).toMatchObject({
      ready: 0,
      running: 0,
      scheduled: 1,
      failed: 0,
    });
    expect(text).not.toContain('hidden');
  });

  test('shows a job that failed, with its error', async () => {
    await gw.sql(`update job_runs set last_error = 'no space left' where name = 'compute_savings'`);
    const { json } = await operator('GET', '/health');
    expect(json.status).toBe('degraded');
    expect(json.problems).toContain('the job compute_savings failed: no space left');
  });

  test('runs only jobs it knows', async () => {
    for (const name of ['nonsense', 'send_mail', '%00'])
      expect(await outcome('POST', `/jobs/${name}/run`)).toEqual([404, 'not_found']);
  });

  test('recomputes savings as a job', async () => {
    const { status, json } = await operator('POST', '/savings/recompute');
    expect([status, json]).toEqual([200, { job: 'compute_savings', status: 'queued' }]);
  });

  test('has no price sources until some are configured, and says so', async () => {
    const { status, json } = await operator('POST', '/scraper/run');
    expect([status, json.status, json.sources]).toEqual([200, 'no_sources', []]);
    expect((await operator('GET', '/price-sources')).json).toEqual([]);
  });

  test('sends a test mail, and refuses what is no address', async () => {
    const { status, json } = await operator('POST', '/email/test', { to: 'operator@example.com' });
    expect([status, json]).toEqual([200, { to: 'operator@example.com', status: 'sent', via: 'outbox' }]);
    const [mail] = await waitForMails(gw.dataDir, 'operator@example.com', 1);
    expect(mail).toContain('Subject: Gateway test mail');
    for (const to of ['nobody', '', undefined]) {
      expect(await outcome('POST', '/email/test', { to })).toEqual([400, 'invalid_email']);
    }
    expect(await lastPlatformAudit()).toMatchObject({
      action: 'email.tested',
      details: { to: 'operator@example.com' },
    });
  });
});
