import { expect } from 'vitest';
import { recordRequests, type RecordedRequest } from '../api/recorded-requests.ts';
import { eventually, type Gateway, type SignedUp } from '../harness.ts';
import { runJob } from '../jobs/run-job.ts';
import type { Receiver } from '../receiver.ts';

const DAY_MS = 86_400_000;
const HISTORY_DAYS = 60;
const PER_DAY = 24;

/** Believable traffic: dear models seldom, cheap ones often; rates in US dollars per million tokens. */
const MODELS = [
  { model: 'gpt-5.6', provider: 'prov_a', family: 'gpt-5.6', input: 2.5, output: 15, weight: 3, scale: 9 },
  { model: 'claude-opus-5', provider: 'prov_b', family: 'claude-opus', input: 5, output: 25, weight: 3, scale: 7 },
  { model: 'gpt-5-mini', provider: 'prov_a', family: 'gpt-5', input: 0.25, output: 2, weight: 6, scale: 12 },
  { model: 'gemini-2.5-flash', provider: 'prov_c', family: 'gemini-2.5', input: 0.3, output: 2.5, weight: 5, scale: 15 },
  { model: 'gpt-4.1', provider: 'prov_a', family: 'gpt-4.1', input: 2, output: 8, weight: 3, scale: 5 },
  { model: 'deepseek-chat', provider: 'prov_d', family: 'deepseek', input: 0.28, output: 0.42, weight: 3, scale: 20 },
] as const;
const SERVICES = ['checkout', 'support-bot', 'search', 'nightly-reports', 'code-review'];
const USERS = ['ada@acme.test', 'grace@acme.test', 'linus@acme.test', 'margaret@acme.test'];
const CUSTOMERS = ['Northwind', 'Globex', 'Initech', 'Umbrella', 'Hooli'];
const AGENTS = ['planner', 'reviewer', null, null];

/** The same traffic on every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function traffic(teams: ReadonlyArray<{ id: string; slug: string }>, apiKeyId: string, scale: number): RecordedRequest[] {
  const random = seededRandom(7);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const weighted = MODELS.flatMap((model) => Array.from({ length: model.weight }, () => model));
  const requests: RecordedRequest[] = [];
  for (let day = HISTORY_DAYS - 1; day >= 0; day--) {
    const weekday = new Date(Date.now() - day * DAY_MS).getUTCDay();
    const busy = weekday === 0 || weekday === 6 ? 0.45 : 1;
    for (let call = 0; call < PER_DAY * busy; call++) {
      const { model, provider, family, input: inputRate, output: outputRate, scale: size } = pick(weighted);
      const tokensInput = Math.floor(2_000 * size * (0.3 + random()) * scale);
      const cached = Math.floor(tokensInput * random() * 0.6);
      const tokensOutput = Math.floor(300 * size * (0.3 + random()) * scale * (1 + (HISTORY_DAYS - day) / 80));
      const fresh = tokensInput - cached;
      const lines = [
        { bucket: 'input', quantity: fresh, unit: 'tokens', rate_usd: String(inputRate / 1e6), cost: fresh * inputRate },
        { bucket: 'cached_read', quantity: cached, unit: 'tokens', rate_usd: String(inputRate / 1e7), cost: (cached * inputRate) / 10 },
        { bucket: 'output', quantity: tokensOutput, unit: 'tokens', rate_usd: String(outputRate / 1e6), cost: tokensOutput * outputRate },
      ];
      const failed = random() < 0.03;
      const team = pick(teams);
      const at = Date.now() - day * DAY_MS - Math.floor(random() * 20 * 3_600_000) - 120_000;
      requests.push({
        created_at: new Date(at).toISOString(),
        provider,
        model_id: model,
        model_requested: model,
        model_family: family,
        tokens_input: tokensInput,
        tokens_output: failed ? 0 : tokensOutput,
        cost_microdollars: failed ? 0 : Math.round(lines.reduce((sum, { cost }) => sum + cost, 0)),
        cost_breakdown: failed ? [] : lines.map(({ cost, ...line }) => ({ ...line, cost_usd: (cost / 1e6).toFixed(9) })) as never,
        usage: { input: fresh, cached_read: cached, output: tokensOutput } as never,
        status_code: failed ? pick([429, 500, 503]) : 200,
        stream: random() < 0.6,
        latency_total_ms: Math.floor(400 + random() * 6_000),
        latency_first_byte_ms: Math.floor(150 + random() * 400),
        api_key_id: apiKeyId,
        team_id: team.id,
        team_slug: team.slug,
        service_name: pick(SERVICES),
        user_name: pick(USERS),
        end_customer: pick(CUSTOMERS),
        agent: pick(AGENTS),
        tags: { feature: pick(['summaries', 'chat', 'triage']), region: pick(['eu', 'us']) },
        headers: { 'user-agent': 'openai-python/2.8.1' },
      });
    }
  }
  return requests.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
}

export interface Seeded extends SignedUp {
  key: string;
  requestId: string;
  webhookId: string;
  reconciliationId: string;
}

/** An account that has been in use for two months, so that every page has something to show. */
export async function seed(gw: Gateway, receiver: Receiver): Promise<Seeded> {
  const tenant = await gw.onboard();
  const { token } = tenant;
  const post = async (path: string, body: unknown) => {
    const answer = await gw.call('POST', path, { token, body });
    expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(300);
    return answer.json;
  };
  const teams: Array<{ id: string; slug: string }> = [];
  for (const [name, cost_center] of [['Platform', 'CC-100'], ['Research', 'CC-200'], ['Customer Support', 'CC-310'], ['Growth', null]]) {
    teams.push(await post('/v1/teams', { name, cost_center }));
  }
  await post('/v1/api-keys', { name: 'checkout-service', team_id: teams[0]!.id, service_name: 'checkout' });
  await post('/v1/api-keys', { name: 'staging', environment: 'test' });
  const old = await post('/v1/api-keys', { name: 'retired laptop' });
  await gw.call('DELETE', `/v1/api-keys/${old.id}`, { token });
  const ids = await recordRequests(gw, tenant.tenantId, traffic(teams, tenant.keyId, 3));
  await seedControls(gw, tenant, teams, post);
  const webhookId = await seedWebhooks(receiver, post);
  const reconciliationId = await seedInvoice(gw, token);
  await seedPrices(gw, token);
  await seedIndex(gw, teams);
  await runJob(gw, 'compute_savings');
  return { ...tenant, requestId: ids.at(-1)!, webhookId, reconciliationId };
}

type Post = (path: string, body: unknown) => Promise<{ id: string }>;

async function seedControls(gw: Gateway, tenant: SignedUp & { key: string }, teams: ReadonlyArray<{ id: string }>, post: Post): Promise<void> {
  await post('/v1/budgets', { amount_usd: 60, period: 'monthly', mode: 'soft' });
  await post('/v1/budgets', { scope_type: 'team', scope_id: teams[1]!.id, amount_usd: 40, period: 'monthly', mode: 'hard' });
  await post('/v1/budgets', { scope_type: 'service', scope_id: 'nightly-reports', amount_usd: 0.000001, period: 'weekly', mode: 'approval' });
  await post('/v1/budgets', { scope_type: 'agent', agent_name: 'planner', amount_usd: 25, period: 'daily', mode: 'hard' });
  await post('/v1/spend-quotas', { dimension_type: 'tenant_total', period: 'month', limit_microdollars: 120_000_000 });
  await post('/v1/spend-quotas', { dimension_type: 'model', dimension_value: 'claude-opus-5', period: 'month', limit_microdollars: 20_000_000, alert_thresholds: [50, 90, 110] });
  const lifted = await post('/v1/kill', { scope_type: 'agent', scope_value: 'crawler', reason: 'looped over its own output' });
  await gw.call('DELETE', `/v1/kill/${lifted.id}`, { token: tenant.token });
  await post('/v1/kill', { scope_type: 'service', scope_value: 'legacy-import', reason: 'retries without end since the deploy' });
  const call = (service: string) =>
    gw.proxy('/openai/v1/chat/completions', {
      key: tenant.key,
      headers: { 'x-gateway-service': service },
      body: { model: 'gpt-5-mini', max_completion_tokens: 500, messages: [{ role: 'user', content: 'Write the report.' }] },
    });
  expect((await call('nightly-reports')).status).toBe(429);
  expect((await call('legacy-import')).status).toBe(451);
  for (let count = 0; count < 3; count++) expect((await call('checkout')).status).toBe(200);
  await gw.sql(
    `insert into alerts (tenant_id, id, alert_type, severity, title, metadata, cause)
     values ($1, gen_random_uuid(), 'cost_anomaly', 'critical', $2, '{}', 'seed:1'), ($1, gen_random_uuid(), 'budget_threshold', 'warning', $3, '{}', 'seed:2')`,
    [tenant.tenantId, 'An hour cost $14.20; $2.10 was to be expected', 'Team Research has used 80 % of its monthly budget of $40.00'],
  );
}

async function seedWebhooks(receiver: Receiver, post: Post): Promise<string> {
  const good = await post('/v1/webhooks', { url: `${receiver.url}/alerts`, event_types: ['alert.all'] });
  const bad = await post('/v1/webhooks', { url: `${receiver.url}/broken`, event_types: ['alert.kill_switch', 'alert.cost_anomaly'] });
  receiver.respond = (response, { path }) => {
    response.statusCode = path === '/broken' ? 500 : 200;
    response.end();
  };
  await post(`/v1/webhooks/${good.id}/test`, {});
  await post(`/v1/webhooks/${bad.id}/test`, {});
  return bad.id;
}

async function seedInvoice(gw: Gateway, token: string): Promise<string> {
  const month = new Date(Date.now() - 20 * DAY_MS).toISOString().slice(0, 7);
  const form = new FormData();
  form.set('provider', 'prov_a');
  form.set('invoice_month', month);
  form.set('file', new Blob(['model,cost\ngpt-5.6,31.50\ngpt-5-mini,8.20\ngpt-4.1,12.40\ngpt-image-1,4.75\n']), `openai-${month}.csv`);
  const response = await fetch(`${gw.apiUrl}/v1/reconciliation/upload`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: form });
  const run = (await response.json()) as { id: string };
  expect(response.status).toBe(201);
  return run.id;
}

/** An operator raises a price; whoever used the model is told. */
async function seedPrices(gw: Gateway, token: string): Promise<void> {
  const listed = await gw.call('GET', '/v1/operator/models?search=claude-opus-5', { token: gw.operatorToken });
  const model = listed.json.data.find((row: { model_id: string }) => row.model_id === 'claude-opus-5');
  const changed = await gw.call('PUT', `/v1/operator/models/${model.id}`, {
    token: gw.operatorToken,
    body: { pricing_output_per_mtok: 30 },
  });
  expect(changed.status, changed.text).toBe(200);
  await eventually(async () => expect((await gw.call('GET', '/v1/models/changes', { token })).json).toHaveLength(1));
}

/** Three accounts that share are what the public index needs to show a day. */
async function seedIndex(gw: Gateway, teams: ReadonlyArray<{ id: string; slug: string }>): Promise<void> {
  for (let tenants = 0; tenants < 3; tenants++) {
    const tenant = await gw.onboard();
    await gw.call('PUT', '/v1/account/settings/data-share', { token: tenant.token, body: { enabled: true } });
    const own = traffic(teams, tenant.keyId, 1 + tenants / 2).map((request) => ({ ...request, team_id: null, team_slug: null }));
    await recordRequests(gw, tenant.tenantId, own.slice(-24 * 6));
  }
  await runJob(gw, 'build_cost_index');
}
