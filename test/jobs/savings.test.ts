import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyUsage } from '../../src/server/domain/usage.ts';
import { type RecordedRequest, recordRequests } from '../api/recorded-requests.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { runJob } from './run-job.ts';

const NOW = Date.parse('2026-06-30T02:00:00Z');
const MINUTE = 60_000;
const DAY = 86_400_000;

let gw: Gateway;
let nowMs = NOW;
beforeAll(async () => {
  gw = await startGateway({ nowMs: () => nowMs });
});
afterAll(() => gw.stop());

/** Microdollars per token as the providers publish them, written down here once more. */
const RATES = {
  'gpt-5': { input: 1.25, output: 10 },
  'gpt-5-mini': { input: 0.25, output: 2 },
  'gpt-4o': { input: 2.5, output: 10 },
  'claude-opus-4-6': { input: 5, output: 25 },
  'claude-sonnet-4-6': { input: 3, output: 15, cached: 0.3, written: 3.75 },
};
type ModelName = keyof typeof RATES;
const costOf = (model: ModelName, input: number, output: number) =>
  input * RATES[model].input + output * RATES[model].output;

let priceIds: Map<string, string>;
async function priceIdOf(model: string): Promise<string> {
  priceIds ??= new Map(
    (
      await gw.sql<{ model_id: string; id: string }>(
        'select model_id, prices.id from prices join models on models.id = prices.model order by effective_from',
      )
    ).map((row) => [row.model_id, row.id]),
  );
  return priceIds.get(model)!;
}

async function traffic(
  tenant: SignedUp,
  model: ModelName,
  [input, output]: [number, number],
  times: readonly number[],
  more: Partial<RecordedRequest> = {},
): Promise<void> {
  const price_id = await priceIdOf(model);
  const requests = times.map((atMs) => ({
    provider: model.startsWith('claude') ? ('prov_b' as const) : ('prov_a' as const),
    model_id: model,
    model_requested: model,
    usage: { ...emptyUsage(), input, output },
    tokens_input: input,
    tokens_output: output,
    cost_microdollars: costOf(model, input, output),
    price_id,
    ...more,
    created_at: new Date(atMs).toISOString(),
  }));
  for (let from = 0; from < requests.length; from += 1_000)
    await recordRequests(gw, tenant.tenantId, requests.slice(from, from + 1_000));
}

/** So many instants, spread over the month before now. */
const overTheMonth = (count: number) =>
  Array.from({ length: count }, (_, index) => NOW - 29 * DAY + Math.floor((index * 28 * DAY) / count));
const fingerprint = (number: number) => number.toString(16).padStart(32, '0');

const findings = async (token: string, query = '') =>
  (await gw.call('GET', `/v1/savings${query}`, { token })).json;
const figures = (finding: Record<string, unknown>) => [
  finding.finding_type,
  finding.model_id,
  finding.service_name,
  finding.current_cost_microdollars,
  finding.optimized_cost_microdollars,
  finding.savings_microdollars,
];

describe('the analysis of a month of traffic', () => {
  let tenant: SignedUp;
  beforeAll(async () => {
    tenant = await gw.signUp();
    // Short questions to a large model, and others that are not short.
    await traffic(tenant, 'gpt-5', [1_000, 200], overTheMonth(2_000), { service_name: 'chat' });
    await traffic(tenant, 'gpt-5', [3_000, 200], overTheMonth(100), { service_name: 'chat' });
    await traffic(tenant, 'gpt-5', [1_000, 600], overTheMonth(100), { service_name: 'chat' });
    await traffic(tenant, 'gpt-5-mini', [3_000, 700], overTheMonth(3_000), { service_name: 'mail' });
    // Small ones, of which those that are streamed cannot wait for a batch.
    await traffic(tenant, 'claude-opus-4-6', [400, 40], overTheMonth(1_200), { service_name: 'tags' });
    await traffic(tenant, 'claude-opus-4-6', [400, 40], overTheMonth(50), {
      service_name: 'tags',
      stream: true,
    });
    // Three times two hundred requests a minute apart that begin alike, and some hours apart that do too.
    const runs = [3, 7, 12].flatMap((day) =>
      Array.from({ length: 200 }, (_, minute) => NOW - day * DAY + minute * MINUTE),
    );
    const alike = { prefix_fingerprint: fingerprint(1), long_prefix_fingerprint: fingerprint(2) };
    const apart = [1, 2, 5].map((day) => NOW - day * DAY - 6 * 3_600_000);
    await traffic(tenant, 'claude-sonnet-4-6', [6_000, 600], [...runs, ...apart], alike);
    // Ten prompts sent four times within nine minutes, and once more when it was too late to be a repetition.
    for (let prompt = 0; prompt < 10; prompt++) {
      const startMs = NOW - (prompt + 2) * DAY - 4 * MINUTE;
      const times = [0, 3, 6, 9, 20].map((minute) => startMs + minute * MINUTE);
      await traffic(tenant, 'gpt-5', [30_000, 1_000], times, {
        prompt_fingerprint: fingerprint(100 + prompt),
      });
    }
    // A trickle on a model that the rest has left.
    await traffic(tenant, 'gpt-4o', [100_000, 1_000], overTheMonth(40), { service_name: 'old' });
    // What must not count: a month ago, refused, failed, without a price.
    await traffic(tenant, 'gpt-5', [1_000, 200], [NOW - 31 * DAY], { service_name: 'chat' });
    await traffic(tenant, 'gpt-5', [1_000, 200], overTheMonth(50), {
      service_name: 'chat',
      status_code: 500,
    });
    await traffic(tenant, 'gpt-5', [1_000, 200], overTheMonth(50), {
      service_name: 'chat',
      cost_status: 'unpriced',
    });
    await runJob(gw, 'compute_savings');
  });

  it('finds exactly what could have cost less, to the microdollar', async () => {
    const shorts = 2_000 * costOf('gpt-5', 1_000, 200);
    const smalls = 1_200 * costOf('claude-opus-4-6', 400, 40);
    const smallsAndStreamed = 1_250 * costOf('claude-opus-4-6', 400, 40);
    const cached = 600 * costOf('claude-sonnet-4-6', 6_000, 600);
    const sonnet = RATES['claude-sonnet-4-6'];
    const cacheSaving = Math.floor(
      597 * 4_096 * (sonnet.input - sonnet.cached) - 3 * 4_096 * (sonnet.written - sonnet.input),
    );
    const duplicate = costOf('gpt-5', 30_000, 1_000);
    const left = 40 * costOf('gpt-4o', 100_000, 1_000);
    const moved = 40 * costOf('gpt-5-mini', 100_000, 1_000);
    const row = (type: string, model: string, service: string | null, current: number, optimized: number) => [
      type,
      model,
      service,
      current,
      optimized,
      current - optimized,
    ];
    const found = await findings(tenant.token);
    const byType = (type: string) =>
      found.filter((f: { finding_type: string }) => f.finding_type === type).map(figures);
    expect(byType('model_downgrade_opportunity')).toContainEqual(
      row('model_downgrade_opportunity', 'gpt-5', 'chat', shorts, 2_000 * costOf('gpt-5-mini', 1_000, 200)),
    );
    expect(byType('small_token_requests')).toEqual([
      row('small_token_requests', 'claude-opus-4-6', 'tags', smalls, smalls / 2),
    ]);
    expect(byType('underutilized_cache')).toEqual([
      row('underutilized_cache', 'claude-sonnet-4-6', null, cached, cached - cacheSaving),
    ]);
    expect(byType('duplicate_prompts')).toEqual([
      row('duplicate_prompts', 'gpt-5', null, 40 * duplicate, 10 * duplicate),
    ]);
    expect(byType('idle_models')).toEqual([row('idle_models', 'gpt-4o', null, left, moved)]);
    // Opus has no cheaper sibling of its own family: the next is one of the same house, at most half the price.
    const house = byType('model_downgrade_opportunity').filter(([, model]: unknown[]) => model !== 'gpt-5');
    expect(house).toHaveLength(1);
    expect(house[0].slice(0, 4)).toEqual([
      'model_downgrade_opportunity',
      'claude-opus-4-6',
      'tags',
      smallsAndStreamed,
    ]);
    expect(house[0][4]).toBeLessThanOrEqual(smallsAndStreamed / 2);
    expect(found).toHaveLength(6);
  });

  it('says its arithmetic, its period and its figures in dollars, the largest saving first', async () => {
    const found = await findings(tenant.token);
    const savings = found.map((finding: { savings_microdollars: number }) => finding.savings_microdollars);
    expect(savings).toEqual([...savings].sort((a, b) => b - a));
    for (const finding of found) {
      expect(finding).toMatchObject({
        period_start: new Date(NOW - 30 * DAY).toISOString(),
        period_end: new Date(NOW).toISOString(),
        dismissed: false,
        savings_usd: (finding.savings_microdollars / 1e6).toFixed(6),
      });
    }
    const downgrade = found.find(
      (finding: { model_id: string; service_name: string }) => finding.service_name === 'chat',
    );
    expect(downgrade.recommendation_text).toBe(
      '2,000 requests to gpt-5 from the service chat had at most 2,000 input and 500 output tokens and cost $6.50. ' +
        'The same tokens (2,000,000 input, 400,000 output) at the rates of gpt-5-mini ($0.25 per million input and ' +
        '$2 per million output) cost $1.30. Try gpt-5-mini on a sample of them and compare the answers before you ' +
        'switch. Saving: $5.20 in 30 days.',
    );
  });

  it('finds the same again, in place of what it found before', async () => {
    const before = await findings(tenant.token);
    await runJob(gw, 'compute_savings');
    expect(await findings(tenant.token)).toEqual(before);
  });

  it('never brings back what was dismissed, and drops what is no longer so', async () => {
    const [first, ...others] = await findings(tenant.token);
    const dismissed = await gw.call('POST', `/v1/savings/${first.id}/dismiss`, { token: tenant.token });
    expect([dismissed.status, dismissed.json]).toEqual([200, { ...first, dismissed: true }]);
    expect(await findings(tenant.token)).toEqual(others);
    await runJob(gw, 'compute_savings');
    expect(await findings(tenant.token)).toEqual(others);
    expect(await findings(tenant.token, '?include_dismissed=true')).toEqual([
      { ...first, dismissed: true },
      ...others,
    ]);
    nowMs = NOW + 31 * DAY;
    try {
      await runJob(gw, 'compute_savings');
      const login = await gw.call('POST', '/v1/auth/login', {
        body: { email: tenant.email, password: tenant.password },
      });
      expect(await findings(login.json.token)).toEqual([]);
      expect(await findings(login.json.token, '?include_dismissed=true')).toHaveLength(1);
    } finally {
      nowMs = NOW;
    }
  });
});

describe('savings', () => {
  it('below a dollar a month are not shown', async () => {
    const tenant = await gw.signUp();
    const perRequest = costOf('gpt-5', 30_000, 1_000);
    const repeats = Math.floor(1_000_000 / perRequest);
    const times = Array.from({ length: repeats + 1 }, (_, index) => NOW - 5 * DAY + index * 1_000);
    await traffic(tenant, 'gpt-5', [30_000, 1_000], times, { prompt_fingerprint: fingerprint(7) });
    expect(repeats * perRequest).toBeLessThan(1_000_000);
    await gw.sql('delete from savings_hours');
    await runJob(gw, 'compute_savings');
    expect(await findings(tenant.token)).toEqual([]);
    await traffic(tenant, 'gpt-5', [30_000, 1_000], [NOW - 5 * DAY + 60_000], {
      prompt_fingerprint: fingerprint(7),
    });
    await gw.sql('delete from savings_hours');
    await runJob(gw, 'compute_savings');
    expect((await findings(tenant.token)).map(figures)).toEqual([
      [
        'duplicate_prompts',
        'gpt-5',
        null,
        (repeats + 2) * perRequest,
        perRequest,
        (repeats + 1) * perRequest,
      ],
    ]);
  });

  it('are found in what really goes through the proxy, of which no word is kept', async () => {
    const tenant = await gw.onboard();
    gw.simulator.script('prov_b', { usage: { inputTokens: 200_000, outputTokens: 100 } });
    const secret = 'the-quick-brown-fox';
    const call = (question: string) =>
      gw.proxy('/prov_b/v1/messages', {
        key: tenant.key,
        headers: { 'anthropic-version': '2023-06-01', 'x-gateway-service': 'desk' },
        body: {
          model: 'claude-sonnet-4-6',
          max_tokens: 100,
          messages: [{ role: 'user', content: question }],
          system: `${secret} `.repeat(2_000),
        },
      });
    for (let number = 0; number < 120; number++) await call(number < 3 ? 'again' : `question ${number}`);
    await gw.logged(tenant.token, 120);
    await gw.sql('delete from savings_hours');
    await runJob(gw, 'compute_savings');
    const cost = costOf('claude-sonnet-4-6', 200_000, 100);
    const cacheSaving = Math.floor(119 * 4_096 * 2.7 - 4_096 * 0.75);
    expect((await findings(tenant.token)).map(figures)).toEqual(
      [
        [
          'underutilized_cache',
          'claude-sonnet-4-6',
          'desk',
          120 * cost,
          120 * cost - cacheSaving,
          cacheSaving,
        ],
        ['duplicate_prompts', 'claude-sonnet-4-6', 'desk', 3 * cost, cost, 2 * cost],
      ].sort((a, b) => Number(b[5]) - Number(a[5])),
    );
    const [kept] = await gw.sql<{ row: string }>(
      'select row_to_json(requests)::text as row from requests where tenant_id = $1 limit 1',
      [tenant.tenantId],
    );
    expect(kept!.row).not.toContain('fox');
  });

  it('of one tenant’s prompts are never compared with another’s', async () => {
    const [one, two] = [await gw.onboard(), await gw.onboard()];
    for (const { key } of [one, two]) {
      await gw.proxy('/prov_a/v1/chat/completions', {
        key,
        body: { model: 'gpt-5', messages: [{ role: 'user', content: 'hi' }] },
      });
    }
    const prints = await eventually(async () => {
      const rows = await gw.sql<{ print: string }>(
        "select encode(prompt_fingerprint, 'hex') as print from requests where tenant_id in ($1, $2)",
        [one.tenantId, two.tenantId],
      );
      expect(rows).toHaveLength(2);
      return rows.map((row) => row.print);
    });
    expect(prints[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(prints[0]).not.toBe(prints[1]);
  });
});
