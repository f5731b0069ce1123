import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { openBrowser, seriousViolations, settled, watchComplaints } from './browser.ts';
import { type Seeded, seed } from './seeded.ts';

/** Set to a folder to keep a picture of every page in both themes and widths. */
const SHOTS = process.env.DASHBOARD_SHOTS;
const PATIENCE_MS = 10_000;
const NARROWEST_PX = 360;
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
  docs: '/docs',
  nowhere: '/nowhere',
};
const INSIDE_PAGES: Record<string, (data: Seeded) => string> = {
  overview: () => '/',
  connect: () => '/connect',
  explore: () => '/explore',
  'explore-customer': () => '/explore?group=customer&person=Globex',
  'explore-user': () => '/explore?group=user',
  requests: () => '/requests',
  'requests-customer': () => '/requests?end_customer=Globex',
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
/** The button that opens each, and where it is. */
const DIALOGS = [
  ['Create budget', '/budgets'],
  ['Create quota', '/quotas'],
  ['Stop traffic', '/kill-switches'],
  ['Create key', '/keys'],
  ['Create team', '/teams'],
  ['Add endpoint', '/webhooks'],
] as const;
const CONSOLE_VIEWS = ['Platform', 'Tenants', 'Models', 'Price changes', 'Health & jobs', 'Audit'];

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

/** What is wrong with a page as it stands; a picture of it is kept on the way. */
async function faultsOf(page: Page, name: string): Promise<string[]> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await settled(page);
  const faults = await seriousViolations(page);
  const size = page.viewportSize()!;
  for (const width of [size.width, NARROWEST_PX]) {
    await page.setViewportSize({ ...size, width });
    const overflowPx = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflowPx > 0) faults.push(`${overflowPx} px too wide at ${width} px`);
  }
  await page.setViewportSize(size);
  if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
  return faults;
}

const VIEWS = (['light', 'dark'] as const).flatMap((theme) => WIDTHS.map((width) => ({ theme, width })));

describe.each(VIEWS)('in the $theme theme at $width px', ({ theme, width }) => {
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    if (SHOTS) mkdirSync(SHOTS, { recursive: true });
    const context = await openContext(theme, width);
    page = await context.newPage();
    complaints = watchComplaints(page, gw.apiUrl);
  });
  afterAll(() => page.context().close());
  const label = `${theme}-${width}`;

  test.each(Object.entries(OPEN_PAGES))('%s can be used by everyone', async (name, path) => {
    await page.goto(path);
    expect(await faultsOf(page, `${name}-${label}`)).toEqual([]);
  });

  test.each(Object.entries(INSIDE_PAGES))(
    '%s can be used by everyone who is logged in',
    async (name, path) => {
      await logIn(page.context());
      await page.goto(path(seeded));
      expect(await faultsOf(page, `${name}-${label}`)).toEqual([]);
    },
  );

  test.each(DIALOGS)('the dialog of “%s” can be used by everyone', async (opener, path) => {
    await logIn(page.context());
    await page.goto(path);
    await page.getByRole('button', { name: opener }).first().click();
    await page.getByRole('dialog').waitFor();
    expect(await faultsOf(page, `dialog-${path.slice(1)}-${label}`)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('every view of the operator console can be used by everyone with the token', async () => {
    await page.goto('/operator');
    await page.getByLabel('Operator token').fill(gw.operatorToken);
    await page.getByRole('button', { name: 'Open console' }).click();
    const faults: string[] = [];
    for (const view of CONSOLE_VIEWS) {
      await page.getByRole('navigation', { name: 'Console' }).getByRole('button', { name: view }).click();
      faults.push(...(await faultsOf(page, `operator-${view.split(' ')[0]!.toLowerCase()}-${label}`)));
    }
    expect(faults).toEqual([]);
  });

  test('nothing was refused by the policy, broke, or was asked of somebody else', () => {
    expect(complaints).toEqual([]);
  });
});
