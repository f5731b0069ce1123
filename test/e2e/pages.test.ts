import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { openBrowser, seriousViolations, settled, watchComplaints } from './browser.ts';
import { type Seeded, seed } from './seeded.ts';

/** Set to a folder to keep a picture of every page in both themes and widths. */
const SHOTS = process.env.DASHBOARD_SHOTS;
const PATIENCE_MS = 10_000;
const WIDTHS = SHOTS ? [1440, 390] : [1440];

let gw: Gateway;
let receiver: Receiver;
let browser: Browser;
let seeded: Seeded;

beforeAll(async () => {
  receiver = await startReceiver();
  gw = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' } });
  [browser, seeded] = await Promise.all([openBrowser(), seed(gw, receiver)]);
});
afterAll(async () => {
  await browser?.close();
  await gw?.stop();
  await receiver?.close();
});

const OPEN_PAGES = {
  login: '/login',
  signup: '/signup',
  forgot: '/forgot-password',
  reset: '/reset-password',
  'cost-index': '/cost-index',
};
const INSIDE_PAGES: Record<string, (data: Seeded) => string> = {
  overview: () => '/',
  connect: () => '/connect',
  explore: () => '/explore',
  'explore-customer': () => '/explore?group=customer&person=Globex',
  requests: () => '/requests',
  request: ({ requestId }) => `/requests/${requestId}`,
  live: () => '/live',
  budgets: () => '/budgets',
  quotas: () => '/quotas',
  'kill-switches': () => '/kill-switches',
  alerts: () => '/alerts',
  savings: () => '/savings',
  models: () => '/models',
  'price-changes': () => '/models?tab=changes',
  keys: () => '/keys',
  teams: () => '/teams',
  webhooks: () => '/webhooks',
  webhook: ({ webhookId }) => `/webhooks/${webhookId}`,
  reconciliations: () => '/reconciliation',
  reconciliation: ({ reconciliationId }) => `/reconciliation/${reconciliationId}`,
  ledger: () => '/ledger',
  audit: () => '/audit',
  settings: () => '/settings',
};
const CONSOLE_TABS = ['platform', 'tenants', 'models', 'prices', 'health'];

async function openContext(theme: 'light' | 'dark', width: number): Promise<BrowserContext> {
  const context = await browser.newContext({
    locale: 'en-US',
    colorScheme: theme,
    viewport: { width, height: 900 },
    baseURL: gw.apiUrl,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}

async function logIn(context: BrowserContext): Promise<void> {
  const answer = await context.request.post(`${gw.apiUrl}/v1/auth/login`, {
    data: { email: seeded.email, password: seeded.password },
    headers: { 'x-gateway-dashboard': '1' },
  });
  expect(answer.status()).toBe(200);
}

async function checkPages(
  context: BrowserContext,
  pages: Record<string, string>,
  label: string,
): Promise<void> {
  const page = await context.newPage();
  const complaints = watchComplaints(page, gw.apiUrl);
  const violations: Record<string, string[]> = {};
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
    const found = await seriousViolations(page);
    if (found.length > 0) violations[name] = found;
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflow > 0) violations[`${name} is too wide`] = [`${overflow} px`];
    if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}-${label}.png`), fullPage: true });
  }
  await page.close();
  expect({ violations, complaints }).toEqual({ violations: {}, complaints: [] });
}

const VIEWS = (['light', 'dark'] as const).flatMap((theme) => WIDTHS.map((width) => ({ theme, width })));

describe.each(VIEWS)('in the $theme theme at $width px', ({ theme, width }) => {
  let context: BrowserContext;
  beforeAll(async () => {
    if (SHOTS) mkdirSync(SHOTS, { recursive: true });
    context = await openContext(theme, width);
  });
  afterAll(() => context.close());
  const label = `${theme}-${width}`;

  test('no page before the log-in has a serious accessibility fault, a refused script or a stranger’s address', async () => {
    await checkPages(context, OPEN_PAGES, label);
  });

  test('no page behind the log-in has a serious accessibility fault, a refused script or a stranger’s address', async () => {
    await logIn(context);
    const pages = Object.fromEntries(
      Object.entries(INSIDE_PAGES).map(([name, path]) => [name, path(seeded)]),
    );
    await checkPages(context, pages, label);
  });

  test('no view of the operator console has one either', async () => {
    const page = await context.newPage();
    const complaints = watchComplaints(page, gw.apiUrl);
    await page.goto('/operator');
    await page.getByLabel('Operator token').fill(gw.operatorToken);
    await page.getByRole('button', { name: 'Open console' }).click();
    await page.getByRole('heading', { level: 1, name: 'Operator console' }).waitFor();
    const violations: Record<string, string[]> = {};
    for (const tab of CONSOLE_TABS) {
      const names = {
        platform: 'Platform',
        tenants: 'Tenants',
        models: 'Models',
        prices: 'Price changes',
        health: 'Health & jobs',
      };
      await page
        .getByRole('navigation', { name: 'Console' })
        .getByRole('button', { name: names[tab as keyof typeof names] })
        .click();
      await settled(page);
      const found = await seriousViolations(page);
      if (found.length > 0) violations[tab] = found;
      if (SHOTS) await page.screenshot({ path: join(SHOTS, `operator-${tab}-${label}.png`), fullPage: true });
    }
    expect({ violations, complaints }).toEqual({ violations: {}, complaints: [] });
    await page.close();
  });
});
