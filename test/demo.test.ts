import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeChance } from '../src/demo/chance.ts';
import { WORKLOADS } from '../src/demo/company.ts';
import { planHistory } from '../src/demo/history.ts';
import { eventually } from './harness.ts';

const ROOT = join(import.meta.dirname, '..');
const REQUESTS = 2_000;
const READY_LIMIT_MS = 100_000;

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
type Json = any;

interface Demo {
  child: ChildProcess;
  ended: Promise<number>;
  printed(): string;
  apiUrl: string;
  email: string;
  password: string;
}

let folder: string;
const running = new Set<ChildProcess>();
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-demo-'));
  // Started as root, the database runs as somebody else, who has to get through here.
  chmodSync(folder, 0o711);
});
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function begin(dataDir: string, ...args: string[]) {
  const { DATABASE_URL: _none, ...env } = process.env;
  const child = spawn(process.execPath, ['scripts/demo.mjs', ...args], {
    cwd: ROOT,
    env: { ...env, GATEWAY_DATA_DIR: dataDir, GATEWAY_PORT: '0', GATEWAY_PROXY_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      printed += bytes.toString();
    });
  }
  const ended = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return code as number;
  });
  return { child, ended, printed: () => printed };
}

async function start(dataDir: string, ...args: string[]): Promise<Demo> {
  const begun = begin(dataDir, ...args);
  const shown = (name: string) => new RegExp(`^  ${name} +(\\S+)`, 'm').exec(begun.printed())?.[1] ?? '';
  await untilPrinted(begun, 'Ctrl-C stops it');
  return {
    ...begun,
    apiUrl: shown('dashboard').replace(/\/$/, ''),
    email: shown('e-mail'),
    password: shown('password'),
  };
}

/** Fails at once when the demo ends before that. */
async function untilPrinted({ child, printed }: ReturnType<typeof begin>, text: string): Promise<void> {
  const endMs = Date.now() + READY_LIMIT_MS;
  while (!printed().includes(text)) {
    if (child.exitCode !== null || Date.now() > endMs)
      throw new Error(`it never said "${text}": ${printed()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function ask(url: string, token: string | null, body?: unknown): Promise<Json> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

async function logIn({ apiUrl, email, password }: Demo): Promise<{ tenantId: string; token: string }> {
  const { tenant_id, token } = await ask(`${apiUrl}/v1/auth/login`, null, { email, password });
  return { tenantId: tenant_id, token };
}

/** On its first day a month has no past to set a limit or a forecast by. */
const YOUNG_MONTH = new Date().getUTCDate() === 1;

const LISTS: Array<[what: string, path: string, rows: (answer: Json) => unknown[]]> = [
  ['spend by model', '/v1/usage/by-model', ({ data }) => data],
  ['spend by team', '/v1/usage/by-team', ({ data }) => data],
  ['spend by service', '/v1/usage/by-service', ({ data }) => data],
  ['spend by user', '/v1/usage/by-user', ({ data }) => data],
  ['spend by end customer', '/v1/usage/by-end-customer', ({ data }) => data],
  ['calls refused by a budget or a provider', '/v1/usage/requests?status=429', ({ data }) => data],
  ['calls stopped by a kill switch', '/v1/usage/requests?status=451', ({ data }) => data],
  ['calls that failed at a provider', '/v1/usage/requests?status=500', ({ data }) => data],
  [
    'teams with cost centers',
    '/v1/teams',
    (teams) => teams.filter((team: Json) => team.cost_center !== null),
  ],
  ['test keys', '/v1/api-keys', (keys) => keys.filter((key: Json) => key.environment === 'test')],
  ['live keys', '/v1/api-keys', (keys) => keys.filter((key: Json) => key.environment === 'production')],
  ['revoked keys', '/v1/api-keys', (keys) => keys.filter((key: Json) => key.revoked_at !== null)],
  ['provider keys', '/v1/provider-keys', (keys) => keys],
  [
    'budgets near their limit',
    '/v1/budgets',
    (all) => all.filter((one: Json) => one.mode === 'soft' && (one.utilization > 0.9 || YOUNG_MONTH)),
  ],
  ['hard budgets', '/v1/budgets', (all) => all.filter((one: Json) => one.mode === 'hard')],
  ['approvals that wait', '/v1/budget-approvals?status=pending', ({ data }) => data],
  ['approvals that were granted', '/v1/budget-approvals?status=approved', ({ data }) => data],
  ['active kill switches', '/v1/kill', (all) => all.filter((one: Json) => one.deactivated_at === null)],
  ['lifted kill switches', '/v1/kill', (all) => all.filter((one: Json) => one.deactivated_at !== null)],
  ['alerts somebody has seen', '/v1/alerts?acknowledged=true', ({ data }) => data],
  [
    'a cost anomaly nobody has seen',
    '/v1/alerts?alert_type=cost_anomaly&acknowledged=false',
    ({ data }) => data,
  ],
  ['savings', '/v1/savings', (findings) => findings],
  ['price changes to come', '/v1/models/changes', (changes) => changes],
  ['price changes that were noted', '/v1/models/changes-history', ({ data }) => data],
  [
    'an invoice with a difference',
    '/v1/reconciliation',
    (runs) => runs.filter((run: Json) => run.shadow_ai_count > 0),
  ],
  ['audit entries', '/v1/audit', ({ data }) => data],
  ['ledger records', '/v1/ledger', ({ data }) => data],
  [
    'the public cost index',
    '/v1/public/cost-index',
    ({ data }) => data.filter((bucket: Json) => bucket.tenant_count >= 3),
  ],
];

describe('the demo', () => {
  let demo: Demo;
  let token: string;
  let tenantId: string;
  let dataDir: string;
  let key: string;
  let endOfCutOff: number;
  const get = (path: string) => ask(demo.apiUrl + path, token);
  const countRequests = async () => (await get('/v1/usage/requests?limit=1')).total as number;

  beforeAll(async () => {
    dataDir = join(folder, 'data');
    const cutOff = begin(dataDir);
    await untilPrinted(cutOff, 'writing');
    cutOff.child.kill('SIGINT');
    endOfCutOff = await cutOff.ended;
    demo = await start(dataDir, '--requests', String(REQUESTS), '--rate', '10');
    ({ token, tenantId } = await logIn(demo));
    key = /^ {2}key +(gw_live_\S+)/m.exec(demo.printed())![1]!;
  });

  it('can be stopped in the middle of its story, and then tells all of it', async () => {
    expect(endOfCutOff).toBe(0);
    expect(demo.printed()).toContain('the story is told');
  });

  it.each(LISTS)('shows %s', async (_what, path, rows) => {
    await eventually(async () => expect(rows(await get(path))).not.toEqual([]));
  });

  it('has a quota that will hold, one that will not, and one that is past its limit', async () => {
    const quotas = await get('/v1/spend-quotas');
    const states = await Promise.all(
      quotas.map(async ({ id }: Json) => (await get(`/v1/spend-quotas/${id}/forecast`)).forecast.state),
    );
    expect(states).toHaveLength(4);
    if (YOUNG_MONTH) return;
    expect(states).toEqual(expect.arrayContaining(['on_track', 'projected_exhaustion', 'over_limit']));
  });

  it('has webhook deliveries that succeeded and one that failed for good', async () => {
    const { webhooks } = await get('/v1/webhooks');
    await eventually(async () => {
      const statuses = new Set<string>();
      for (const { id } of webhooks) {
        for (const { status } of (await get(`/v1/webhooks/${id}/deliveries`)).data) statuses.add(status);
      }
      expect([...statuses]).toEqual(expect.arrayContaining(['succeeded', 'failed']));
    });
  });

  it('has price candidates waiting for the operator, and healthy jobs', async () => {
    const { operatorToken } = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'));
    const candidates = await ask(`${demo.apiUrl}/v1/operator/pricing-candidates`, operatorToken);
    expect(candidates.data.flatMap(({ flags }: Json) => flags)).toEqual(
      expect.arrayContaining(['new_model', 'jump_over_10x']),
    );
    const { problems } = await ask(`${demo.apiUrl}/v1/operator/health`, operatorToken);
    expect(problems).toEqual([]);
  });

  it('has thirty days on record in a ledger that verifies', async () => {
    const verified = await get('/v1/ledger/verify');
    expect(verified).toMatchObject({ valid: true, first_seq: 1 });
    expect(verified.records_checked).toBeGreaterThan(REQUESTS * 0.8);
    const { data } = await get('/v1/usage/timeseries');
    expect(data.filter((day: Json) => day.requests > 0).length).toBeGreaterThanOrEqual(29);
  });

  it('keeps calls of all four providers flowing through the proxy, and some are refused', async () => {
    const before = await countRequests();
    await eventually(async () => {
      const fresh = (await countRequests()) - before;
      expect(fresh).toBeGreaterThan(40);
      const { data } = await get(`/v1/usage/requests?limit=${Math.min(500, fresh)}`);
      expect([...new Set(data.map(({ provider }: Json) => provider))].sort()).toEqual([
        'prov_a',
        'prov_b',
        'prov_c',
        'prov_d',
      ]);
      expect(data.some(({ status_code: status }: Json) => status === 429 || status === 451)).toBe(true);
    });
    expect((await get('/v1/ledger/verify')).valid).toBe(true);
  });

  it('prints a curl command that works', async () => {
    const [, url] = /curl (\S+)/.exec(demo.printed())!;
    const [, body] = /-d '([^']+)'/.exec(demo.printed())!;
    const answer = await ask(url!, key, JSON.parse(body!));
    expect(answer.choices[0].message.content).not.toBe('');
  });

  it('stops with 0, and goes on with the same data when it is started again', async () => {
    const before = await countRequests();
    demo.child.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    demo = await start(dataDir, '--rate', '0');
    const again = await logIn(demo);
    expect(again.tenantId).toBe(tenantId);
    token = again.token;
    const after = await countRequests();
    expect(after).toBeGreaterThanOrEqual(before);
    expect(after).toBeLessThan(before + REQUESTS / 2);
    expect((await get('/v1/ledger/verify')).valid).toBe(true);
    demo.child.kill('SIGTERM');
    expect(await demo.ended).toBe(0);
  });

  it('forgets everything with --fresh', async () => {
    const begun = begin(dataDir, '--fresh', '--requests', '1000');
    await untilPrinted(begun, 'signing up');
    begun.child.kill('SIGINT');
    expect(await begun.ended).toBe(0);
    expect(JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))).toMatchObject({
      told: false,
      email: '',
    });
  });
});

it('does not touch a directory that holds anything but its own data, --fresh or not', async () => {
  const dataDir = join(folder, 'foreign');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'secrets.json'), '{}');
  const begun = begin(dataDir, '--fresh');
  expect(await begun.ended).toBe(1);
  expect(begun.printed()).toContain('not the demo');
  expect(readFileSync(join(dataDir, 'secrets.json'), 'utf8')).toBe('{}');
});

it('tells the same story for the same seed, and another for another', () => {
  const nowMs = Date.UTC(2026, 4, 20, 15);
  const plan = { nowMs, requests: 1_000, workloads: WORKLOADS, eventful: true };
  const told = planHistory(plan, makeChance(7));
  expect(planHistory(plan, makeChance(7))).toEqual(told);
  expect(planHistory(plan, makeChance(8))).not.toEqual(told);
  expect(told.every(({ atMs }, index) => atMs < nowMs && atMs >= (told[index - 1]?.atMs ?? 0))).toBe(true);
});
