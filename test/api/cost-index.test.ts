import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { jobsDone, runJob } from '../jobs/run-job.ts';

let gw: Gateway;
const today = () => new Date().toISOString().slice(0, 10);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const get = (query = '', options = {}) => gw.call('GET', `/v1/public/cost-index${query}`, options);
const found = async (query: string) =>
  (await get(query)).json.data.map((b: { date: string; model_id: string }) => [b.date, b.model_id]);

beforeAll(async () => {
  gw = await startGateway();
  await gw.sql(
    `insert into cost_index_buckets
       (day, provider, model_id, model_family, avg_cost_microdollars, p50_cost_microdollars, p95_cost_microdollars,
        total_requests, tenant_count)
     select day::date, provider, model, 'family', 1234, 1000, 5000, 120, 3
       from (values ($1, 'prov_a', 'gpt-5'), ($1, 'prov_b', 'claude-opus-5'), ($2, 'prov_a', 'gpt-5'),
                    ($3, 'prov_a', 'gpt-5'), ($4, 'prov_a', 'gpt-5')) as made (day, provider, model)`,
    [daysAgo(1), daysAgo(89), daysAgo(90), daysAgo(364)],
  );
});
afterAll(() => gw.stop());

describe('the public cost index', () => {
  it('needs no token, and any page of any origin may read it', async () => {
    const answer = await get('', { headers: { origin: 'https://somewhere.example' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.json.data[0]).toEqual({
      date: daysAgo(1),
      provider: 'prov_a',
      model_id: 'gpt-5',
      model_family: 'family',
      avg_cost_usd: '0.001234',
      p50_cost_usd: '0.001000',
      p95_cost_usd: '0.005000',
      total_requests: 120,
      tenant_count: 3,
    });
    const preflight = await gw.call('OPTIONS', '/v1/public/cost-index', {
      headers: { origin: 'https://somewhere.example', 'access-control-request-method': 'GET' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET']);
  });

  it('is filtered by days, 90 unless said otherwise, by provider and by model', async () => {
    expect(await found('')).toEqual([
      [daysAgo(1), 'gpt-5'],
      [daysAgo(1), 'claude-opus-5'],
      [daysAgo(89), 'gpt-5'],
    ]);
    expect(await found('?days=1')).toEqual([]);
    expect(await found('?days=2&provider=prov_b')).toEqual([[daysAgo(1), 'claude-opus-5']]);
    expect(await found('?days=365&model_id=gpt-5')).toHaveLength(4);
    expect(await found('?model_id=gpt-%25')).toEqual([]);
  });

  it.each(['days=0', 'days=366', 'days=-1', 'days=1.5', 'days=ten', 'provider=openai', 'model_id=%00'])(
    'refuses %s as invalid_field',
    async (query) => {
      const answer = await get(`?${query}`);
      expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    },
  );

  it('shows what three sharing tenants really sent through the proxy, and nothing when one of them leaves', async () => {
    const tenants = [await gw.onboard(), await gw.onboard(), await gw.onboard()];
    gw.simulator.script('prov_a', { usage: { inputTokens: 1_000, outputTokens: 100 } });
    for (const { key, token } of tenants) {
      const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] };
      expect((await gw.proxy('/prov_a/v1/chat/completions', { key, body })).status).toBe(200);
      await gw.logged(token, 1);
    }
    const share = (token: string, enabled: boolean) =>
      gw.call('PUT', '/v1/account/settings/data-share', { token, body: { enabled } });
    const ours = async () => (await get('?days=2&model_id=gpt-4o-mini')).json.data;
    for (const { token } of tenants.slice(0, 2)) await share(token, true);
    await runJob(gw, 'build_cost_index');
    expect(await ours()).toEqual([]);
    await share(tenants[2]!.token, true);
    await jobsDone(gw, 'build_cost_index');
    // 1,000 tokens at 0.15 and 100 at 0.60 microdollars.
    expect(await ours()).toEqual([
      expect.objectContaining({
        provider: 'prov_a',
        avg_cost_usd: '0.000210',
        p50_cost_usd: '0.000210',
        p95_cost_usd: '0.000210',
        total_requests: 3,
        tenant_count: 3,
      }),
    ]);
    expect([today(), daysAgo(1)]).toContain((await ours())[0].date);
    await share(tenants[1]!.token, false);
    expect(await ours()).toEqual([]);
  });
});
