// How long every page with figures takes to show them, for a tenant with a thousand requests and for one with a
// million, in turns, in a real browser; and which calls to the API take longest.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium, { inflate } from '@sparticuz/chromium';
import { chromium as engine } from 'playwright-core';
import { startEmbeddedPostgres } from '../dist/server/adapters/embedded-postgres.js';
import { createLogger } from '../dist/server/adapters/log.js';
import { loadSecrets } from '../dist/server/adapters/secrets.js';
import { startApp } from '../dist/server/app.js';
import { readConfig } from '../dist/server/config.js';
import { readMigrations } from '../dist/server/store/migrations.js';
import { writePast } from './past.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SIZES = [1_000, Number(process.env.BENCH_PAST ?? 1_000_000)];
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const PATIENCE_MS = 60_000;
/** Above the scatter of a browser on a busy machine. */
const AIM = 1.3;
const SLACK_MS = 50;
const SHOWN_CALLS = 15;
const TEAMS = 8;
const PAGES = {
  overview: '/',
  'overview, today': '/?range=today',
  explore: '/explore',
  'explore by team': '/explore?group=team',
  'explore by service': '/explore?group=service',
  'explore by user': '/explore?group=user',
  'explore by customer': '/explore?group=customer',
  'one customer': '/explore?group=customer&person=customer-7',
  requests: '/requests',
  'requests, page 500': '/requests?page=500',
  'requests of a model': '/requests?model=model-3',
  'requests that failed': '/requests?status=500',
  'requests of a user': '/requests?user=user-7',
  'requests of a customer': '/requests?end_customer=customer-7',
  'failures of a customer': '/requests?end_customer=customer-7&status=500',
  budgets: '/budgets',
  quotas: '/quotas',
  'kill switches': '/kill-switches',
  alerts: '/alerts',
  savings: '/savings',
  models: '/models',
  keys: '/keys',
  teams: '/teams',
  webhooks: '/webhooks',
  reconciliation: '/reconciliation',
  ledger: '/ledger',
  audit: '/audit',
  settings: '/settings',
};

async function openBrowser() {
  const launch = async (env) =>
    engine.launch({
      executablePath: await chromium.executablePath(),
      args: ['--no-sandbox', '--disable-gpu'],
      env: { ...process.env, ...env },
    });
  try {
    return await launch({});
  } catch (error) {
    if (!String(error).includes('shared libraries')) throw error;
    const bin = join(
      dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')),
      '..',
      '..',
      'bin',
    );
    return launch({ LD_LIBRARY_PATH: join(await inflate(join(bin, 'al2023.tar.br')), 'lib') });
  }
}

/** The whole program in this process, on a database of its own. */
async function startGateway(dataDir, stops) {
  const reading = readConfig({
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    GATEWAY_PROXY_PORT: '0',
    GATEWAY_LOG_LEVEL: 'error',
  });
  const log = createLogger('error');
  const { secrets } = await loadSecrets(dataDir, {});
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  stops.push(() => postgres.stop());
  const app = await startApp({
    config: reading.config,
    databaseUrl: postgres.connectionString,
    secrets,
    migrations: await readMigrations(join(ROOT, 'migrations')),
    version: 'bench',
    log,
  });
  stops.push(() => app.stop());
  await app.ready;
  return { apiUrl: app.apiUrl, databaseUrl: postgres.connectionString };
}

/** A tenant with so many requests behind it and one of everything that is set. */
async function openTenant({ apiUrl, databaseUrl }, count) {
  const account = { name: `Of ${count}`, email: `of-${count}@example.com`, password: 'bench bench' };
  const { token, tenant_id: tenantId } = await ask(apiUrl, '/v1/auth/signup', null, account);
  const make = (path, body) => ask(apiUrl, path, token, body);
  const teams = [];
  for (let n = 0; n < TEAMS; n += 1) teams.push(await make('/v1/teams', { name: `Team ${n}` }));
  const key = await make('/v1/api-keys', { name: 'bench' });
  const startedMs = performance.now();
  await writePast(databaseUrl, tenantId, { count, teamIds: teams.map(({ id }) => id), keyId: key.id });
  await make('/v1/budgets', { amount_usd: 100_000, mode: 'soft' });
  await make('/v1/budgets', { amount_usd: 5_000, mode: 'soft', scope_type: 'team', scope_id: teams[0].id });
  await make('/v1/spend-quotas', {
    dimension_type: 'tenant_total',
    period: 'month',
    limit_microdollars: 1e11,
  });
  const quota = { dimension_type: 'end_customer', dimension_value: 'customer-7', period: 'month' };
  await make('/v1/spend-quotas', { ...quota, limit_microdollars: 1e9 });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`a tenant with ${count.toLocaleString('en-US')} requests, written in ${seconds} s`);
  return { count, account };
}

async function ask(apiUrl, path, token, body) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(apiUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** A browser that is logged in, and what its calls to the API took. */
async function openVisitor(browser, apiUrl, { account, count }) {
  const context = await browser.newContext({ baseURL: apiUrl, viewport: { width: 1440, height: 900 } });
  const answer = await context.request.post('/v1/auth/login', {
    data: { email: account.email, password: account.password },
    headers: { 'x-gateway-dashboard': '1' },
  });
  if (!answer.ok()) throw new Error(`the log-in answered ${answer.status()}`);
  const page = await context.newPage();
  const calls = new Map();
  page.on('requestfinished', (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/v1/')) return;
    const { requestStart, responseEnd } = request.timing();
    const name = pathname + search.replace(/(from|to)=[^&]*&?/g, '');
    calls.set(name, [...(calls.get(name) ?? []), responseEnd - requestStart]);
  });
  return { count, page, calls, times: new Map() };
}

/** From the click to the last skeleton gone, by the page's own clock. */
async function timeToContent({ page, times }, name, path) {
  await page.goto(path, { waitUntil: 'commit' });
  // Looked for by the page itself, frame by frame: its policy forbids the browser driver's own way of waiting.
  const shownMs = await page.evaluate(
    (patienceMs) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const isShown =
            document.querySelector('h1') !== null &&
            document.querySelector('.skeleton, [aria-busy="true"]') === null;
          if (isShown) return resolve(performance.now());
          if (performance.now() > patienceMs) return reject(new Error(`nothing shown at ${location}`));
          requestAnimationFrame(look);
        };
        look();
      }),
    PATIENCE_MS,
  );
  times.set(name, [...(times.get(name) ?? []), shownMs]);
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

function printPages([few, many]) {
  const head = SIZES.map((size) => size.toLocaleString('en-US').padStart(12)).join('');
  console.log(`\nTime to content in ms, median of ${ROUNDS}, requests on record:`);
  console.log(`  ${'page'.padEnd(26)}${head}`);
  let slower = 0;
  for (const name of Object.keys(PAGES)) {
    const [a, b] = [median(few.times.get(name)), median(many.times.get(name))];
    const grows = b > a * AIM + SLACK_MS;
    if (grows) slower += 1;
    console.log(
      `  ${name.padEnd(26)}${a.toFixed(0).padStart(12)}${b.toFixed(0).padStart(12)}${grows ? '   GROWS' : ''}`,
    );
  }
  return slower;
}

function printCalls([few, many]) {
  console.log(`\nSlowest calls of the larger one, ms:`);
  const ranked = [...many.calls].map(([name, took]) => [median(took), name]).sort(([a], [b]) => b - a);
  for (const [ms, name] of ranked.slice(0, SHOWN_CALLS)) {
    const before = few.calls.get(name);
    console.log(
      `  ${(before ? median(before).toFixed(0) : '–').padStart(6)}${ms.toFixed(0).padStart(7)}   ${name.slice(0, 110)}`,
    );
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-pages-'));
// Started as root, the database runs as somebody else, who has to get through here.
chmodSync(dataDir, 0o711);
const stops = [];
try {
  const gateway = await startGateway(dataDir, stops);
  if (process.env.BENCH_KEEP) console.log(gateway.databaseUrl);
  const tenants = [];
  for (const size of SIZES) tenants.push(await openTenant(gateway, size));
  const browser = await openBrowser();
  stops.push(() => browser.close());
  const visitors = [];
  for (const tenant of tenants) visitors.push(await openVisitor(browser, gateway.apiUrl, tenant));
  // The first round fills the browser's cache and the database's; it is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, path] of Object.entries(PAGES)) {
      for (const visitor of visitors) await timeToContent(visitor, name, path);
    }
    if (round > 0) continue;
    for (const { times, calls } of visitors) {
      times.clear();
      calls.clear();
    }
  }
  const slower = printPages(visitors);
  printCalls(visitors);
  console.log(slower === 0 ? '\nNo page grows with the log.' : `\n${slower} pages grow with the log.`);
  if (process.env.BENCH_KEEP) {
    console.log(`kept: ${gateway.apiUrl} ${gateway.databaseUrl} ${JSON.stringify(tenants)}`);
    await new Promise((resolve) => process.once('SIGTERM', resolve));
  }
  process.exitCode = slower === 0 ? 0 : 1;
} finally {
  for (const stop of stops.reverse()) await stop();
  rmSync(dataDir, { recursive: true, force: true });
}
