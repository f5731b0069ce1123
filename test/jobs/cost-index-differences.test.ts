import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { jobsDone, runJob } from './run-job.ts';

/** Somebody reads the public index before and after, and takes one answer off the other. */

const NOON = Date.parse('2026-06-10T12:00:00Z');
const TODAY = '2026-06-10';
const DAY = 86_400_000;

let gw: Gateway;
let nowMs = NOON;
const priceIds = new Map<string, string>();
beforeAll(async () => {
  gw = await startGateway({ nowMs: () => nowMs, env: { GATEWAY_RATE_SIGNUP: '0', GATEWAY_RATE_LOGIN: '0' } });
  const rows = await gw.sql<{ model_id: string; id: string }>(
    'select model_id, prices.id from prices join models on models.id = prices.model',
  );
  for (const { model_id, id } of rows) priceIds.set(model_id, id);
});
afterAll(() => gw.stop());

let tenants: SignedUp[];
beforeEach(async () => {
  nowMs = NOON;
  await gw.sql('update tenants set data_share_enabled = false');
  await runJob(gw, 'build_cost_index');
  tenants = [];
});

async function signUp(count: number): Promise<void> {
  for (let number = 0; number < count; number++) tenants.push(await gw.signUp());
}

async function share(places: readonly number[], enabled: boolean): Promise<void> {
  for (const place of places) {
    const { email, password } = tenants[place]!;
    const login = await gw.call('POST', '/v1/auth/login', { body: { email, password } });
    const path = '/v1/account/settings/data-share';
    expect((await gw.call('PUT', path, { token: login.json.token, body: { enabled } })).status).toBe(200);
    await jobsDone(gw, 'build_cost_index');
  }
}

/** So many requests at one cost. */
async function send(place: number, cost_microdollars: number, count = 1, model = 'gpt-5'): Promise<void> {
  const request = {
    cost_microdollars,
    price_id: priceIds.get(model)!,
    model_id: model,
    model_requested: model,
    created_at: new Date(nowMs - 60_000).toISOString(),
  };
  await recordRequests(
    gw,
    tenants[place]!.tenantId,
    Array.from({ length: count }, () => request),
  );
}

const build = () => runJob(gw, 'build_cost_index');
type Bucket = Record<'date' | 'provider' | 'model_id', string> & { tenant_count: number };
const read = async (query = '') =>
  (await gw.call('GET', `/v1/public/cost-index${query}`)).json.data as Bucket[];
const bucketOf = async (day: string) => (await read()).find(({ date }) => date === day);

describe('two answers of the public cost index', () => {
  it('are the same before and after one or two tenants join or send something', async () => {
    await signUp(5);
    for (const place of [0, 1, 2, 3, 4]) await send(place, 1_000 * (place + 1));
    await share([0, 1, 2], true);
    const before = await read();
    expect(before).toMatchObject([{ tenant_count: 3, avg_cost_usd: '0.002000' }]);
    await share([3], true);
    expect(await read()).toEqual(before);
    await share([4], true);
    expect(await read()).toEqual(before);
    // With a third that has something new, what waited is shown: three at once.
    await send(0, 9_000);
    await build();
    expect(await bucketOf(TODAY)).toMatchObject({
      tenant_count: 5,
      total_requests: 6,
      avg_cost_usd: '0.004000',
    });
  });

  it('share nothing when somebody left between them: what was shown with it is never shown without it', async () => {
    await signUp(5);
    for (const place of [0, 1, 2, 3, 4]) await send(place, 1_000 * (place + 1));
    await gw.sql('update tenants set data_share_enabled = true where tenant_id = any ($1)', [
      tenants.map(({ tenantId }) => tenantId),
    ]);
    await build();
    expect(await bucketOf(TODAY)).toMatchObject({ tenant_count: 5, avg_cost_usd: '0.003000' });
    await share([4], false);
    await build();
    expect(await bucketOf(TODAY)).toBeUndefined();
    for (const place of [0, 1]) await send(place, 70_000);
    await build();
    expect(await bucketOf(TODAY)).toBeUndefined();
    await send(2, 70_000);
    await build();
    expect(await bucketOf(TODAY)).toMatchObject({
      tenant_count: 3,
      total_requests: 3,
      avg_cost_usd: '0.070000',
    });
  });

  it('show nothing of a tenant that comes back on the day it left, and all of it on the next', async () => {
    await signUp(4);
    await share([0, 1, 2, 3], true);
    for (const place of [0, 1, 2]) await send(place, 1_000);
    await build();
    const before = await bucketOf(TODAY);
    expect(before).toMatchObject({ tenant_count: 3 });
    await share([3], false);
    await share([3], true);
    for (const place of [0, 1, 3]) await send(place, 5_000);
    await build();
    expect(await bucketOf(TODAY)).toEqual(before);
    nowMs = NOON + DAY;
    for (const place of [0, 1, 3]) await send(place, 5_000);
    await build();
    expect(await bucketOf('2026-06-11')).toMatchObject({ tenant_count: 3, avg_cost_usd: '0.005000' });
  });

  it('differ by five tenants or more where one of eleven left, on the day itself and on closed ones', async () => {
    await signUp(11);
    for (const place of tenants.keys()) await send(place, 1_000 * (place + 1));
    await gw.sql('update tenants set data_share_enabled = true where tenant_id = any ($1)', [
      tenants.map(({ tenantId }) => tenantId),
    ]);
    await build();
    nowMs = NOON + DAY;
    for (const place of tenants.keys()) await send(place, 1_000 * (place + 1));
    await build();
    const days = [TODAY, '2026-06-11'];
    for (const day of days) expect(await bucketOf(day)).toMatchObject({ tenant_count: 11 });
    await share([0], false);
    const left = await Promise.all(days.map(bucketOf));
    for (const bucket of left) expect([5, 6]).toContain(bucket!.tenant_count);
    // What is left is the sum of a group that was there before, as it was.
    const groups = await gw.sql<{ day: string; members: string[] }>(
      'select day, members::text[] from cost_index_groups order by day',
    );
    expect(groups.map(({ day }) => day)).toEqual(days);
    for (const [at, { members }] of groups.entries()) {
      const costs = members.map((id) => 1_000 * (tenants.findIndex(({ tenantId }) => tenantId === id) + 1));
      const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length / 1_000_000;
      expect(left[at]).toMatchObject({ avg_cost_usd: mean.toFixed(6), total_requests: members.length });
    }
    await share([0], true);
    await build();
    expect(await Promise.all(days.map(bucketOf))).toEqual(left);
  });

  it('are the same about a bucket whatever was asked: filters choose, and change nothing', async () => {
    await signUp(4);
    for (const place of [0, 1, 2]) await send(place, 1_000 * (place + 1));
    for (const place of [1, 2, 3]) await send(place, 100 * (place + 1), 2, 'gpt-5-mini');
    await share([0, 1, 2, 3], true);
    nowMs = NOON + DAY;
    for (const place of [0, 1, 2]) await send(place, 3_000);
    await build();
    const all = await read();
    expect(all).toHaveLength(3);
    for (const days of [1, 2, 90, 365]) {
      for (const provider of [undefined, 'prov_a', 'prov_b']) {
        for (const model of [undefined, 'gpt-5', 'gpt-5-mini', 'gpt']) {
          const query = new URLSearchParams({
            days: String(days),
            ...(provider && { provider }),
            ...(model && { model_id: model }),
          });
          expect(await read(`?${query}`), String(query)).toEqual(
            all.filter(
              (bucket) =>
                (days > 1 || bucket.date === '2026-06-11') &&
                (!provider || bucket.provider === provider) &&
                (!model || bucket.model_id === model),
            ),
          );
        }
      }
    }
  });
});

describe('over a day of joining, leaving and sending', () => {
  /** The same numbers in every run: a failure can be looked at. */
  const numbers = (seed: number) => () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };

  it('what is published never changes by the requests of one or two tenants', async () => {
    const count = 8;
    await signUp(count);
    const next = numbers(20_260_610);
    // Each tenant has a bin of its own, so that the sums show whose requests they are of.
    const costOf = (place: number) => 4 ** (place + 1);
    const binOf = (place: number) => Math.floor(Math.log2(costOf(place) + 1) * 8);
    const weights = async () => {
      const rows = await gw.sql<{ bin: number; weight: string }>(
        `select (cell -> 0)::int as bin, sum((cell ->> 1)::numeric)::text as weight
           from cost_index_groups, jsonb_array_elements(bins) cell where day = $1 group by 1`,
        [TODAY],
      );
      return Array.from({ length: count }, (_, place) =>
        BigInt(rows.find(({ bin }) => bin === binOf(place))?.weight ?? 0),
      );
    };
    await gw.sql('update tenants set data_share_enabled = true where tenant_id = any ($1)', [
      tenants.map(({ tenantId }) => tenantId),
    ]);
    const seen: bigint[][] = [await weights()];
    let changes = 0;
    for (let step = 1; step <= 40; step++) {
      const place = Math.floor(next() * count);
      const drawn = next();
      if (drawn < 0.1) await share([place], true);
      else if (drawn < 0.15) await share([place], false);
      else await send(place, costOf(place), step);
      await build();
      const now = await weights();
      const differences = seen.map((then) => now.filter((weight, at) => weight !== then[at]).length);
      for (const tenantsSeen of differences) expect([1, 2], `step ${step}`).not.toContain(tenantsSeen);
      if (differences.at(-1)! > 0) changes++;
      seen.push(now);
    }
    expect(changes).toBeGreaterThan(3);
  });
});
