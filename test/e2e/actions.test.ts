import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { openBrowser } from './browser.ts';
import { type Seeded, seed } from './seeded.ts';

const PATIENCE_MS = 15_000;

let gw: Gateway;
let receiver: Receiver;
let browser: Browser;
let seeded: Seeded;
let page: Page;

beforeAll(async () => {
  receiver = await startReceiver();
  gw = await startGateway({
    env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1', GATEWAY_CHAT_HOOK_PREFIX: `${receiver.url}/services/` },
  });
  [browser, seeded] = await Promise.all([openBrowser(), seed(gw, receiver)]);
});
afterAll(async () => {
  await browser?.close();
  await gw?.stop();
  await receiver?.close();
});

beforeEach(async () => {
  const context = await browser.newContext({ baseURL: gw.apiUrl, locale: 'en-US', timezoneId: 'Asia/Tokyo' });
  context.setDefaultTimeout(PATIENCE_MS);
  const answer = await context.request.post('/v1/auth/login', {
    data: { email: seeded.email, password: seeded.password },
    headers: { 'x-gateway-dashboard': '1' },
  });
  expect(answer.status()).toBe(200);
  page = await context.newPage();
});
afterEach(() => page.context().close());

const button = (name: string | RegExp) => page.getByRole('button', { name });
const region = (name: string) => page.getByRole('region', { name, exact: true });
const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
const get = async (path: string) => (await gw.call('GET', path, { token: seeded.token })).json;

test('the overview tells spend, models and budgets of the range in its address', async () => {
  await page.goto('/?range=7d');
  await page.getByLabel('Range', { exact: true }).selectOption('90d');
  await expect.poll(() => page.url()).toContain('range=90d');
  await page.getByRole('img', { name: /^Spend per day/ }).waitFor();
  await button('Show table').click();
  await region('Spend per day')
    .or(page.getByRole('region', { name: /as a table$/ }))
    .waitFor();
  // Back from the table there is a drawing again, not an empty place.
  await button('Show chart').click();
  await page.locator('canvas').first().waitFor();
});

test('a browser without a locale draws its charts too', async () => {
  const cookies = await page.context().cookies();
  const context = await browser.newContext({ baseURL: gw.apiUrl, locale: 'en-US@posix' });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addCookies(cookies);
  const bare = await context.newPage();
  await bare.goto('/');
  expect(await bare.evaluate(() => navigator.languages[0])).toBe('en-US@posix');
  await bare.locator('canvas').first().waitFor();
  await context.close();
});

test('while nobody answers the page keeps what it has and says so, and goes on by itself', async () => {
  await page.goto('/requests?range=90d');
  await shown(/^1–50 of/);
  await page.route('**/v1/**', (route) => route.abort());
  await shown('The gateway does not answer. What you see may be out of date; it is asked again by itself.');
  await shown(/^1–50 of/);
  await page.unroute('**/v1/**');
  await page.getByText('What you see may be out of date').waitFor({ state: 'detached' });
  await page.route('**/v1/**', (route) => route.abort());
  await page.goto('/budgets');
  await shown('The gateway does not answer. It may be restarting, or out of reach of this browser.');
});

test('exploring leads from a model to its requests, with the range kept', async () => {
  await page.goto('/explore?range=90d');
  await page.getByRole('link', { name: 'gpt-4.1', exact: true }).click();
  await page.getByRole('heading', { name: 'Requests' }).waitFor();
  expect(new URL(page.url()).search).toBe('?range=90d&model=gpt-4.1');
  await region('Requests').getByText('gpt-4.1').first().waitFor();
});

test.each([
  ['user', 'User', 'ada@acme.test'],
  ['customer', 'End customer', 'Globex'],
])('exploring leads from a %s to their requests and to their days', async (group, label, name) => {
  await page.goto(`/explore?range=90d&group=${group}`);
  await page.getByRole('link', { name: `Chart of ${name} over time` }).click();
  await page.getByRole('img', { name: new RegExp(`^Spend of ${name} per day`) }).waitFor();
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name: 'Requests' }).waitFor();
  expect(await page.getByLabel(label).inputValue()).toBe(name);
  const field = group === 'user' ? 'user' : 'end_customer';
  const { total } = await get(`/v1/usage/requests?${field}=${name}&from=2020-01-01&limit=1`);
  expect(total).toBeGreaterThan(0);
  await shown(new RegExp(`of ${total}$`));
});

test('requests come as CSV with the filters on screen', async () => {
  await page.goto('/requests?range=90d');
  await page.getByLabel('Service').fill('checkout');
  await page.getByLabel('Service').press('Enter');
  await expect.poll(() => page.url()).toContain('service=checkout');
  const waiting = page.waitForEvent('download');
  await button('Download CSV').click();
  const lines = (await readFile(await (await waiting).path(), 'utf8')).trim().split('\r\n');
  const { total } = await get('/v1/usage/requests?service=checkout&limit=1&from=2020-01-01');
  expect(lines).toHaveLength(total + 1);
  expect(lines.slice(1).every((line) => line.includes('checkout'))).toBe(true);
});

test('paging shows the next rows at once and keeps the page in the address', async () => {
  await page.goto('/requests?range=90d');
  await shown(/^1–50 of/);
  await button('Next').click();
  await shown(/^51–100 of/);
  expect(page.url()).toContain('page=2');
});

test('times are shown in the zone chosen, and say which', async () => {
  await page.goto('/requests');
  const time = region('Requests').locator('time').first();
  const utc = await time.textContent();
  await button('Local time').click();
  await expect.poll(() => time.textContent()).not.toBe(utc);
  expect(await time.getAttribute('title')).toMatch(/GMT\+9$/);
});

test('a quota can be made and shows its forecast', async () => {
  await page.goto('/quotas');
  await button('Create quota').click();
  await page.getByLabel('What it watches').selectOption('service');
  await page.getByLabel('Service').fill('search');
  await page.getByLabel('Limit in US dollars').fill('75');
  await page.getByRole('dialog').getByRole('button', { name: 'Create quota' }).click();
  await page.getByRole('img', { name: /^Service search: / }).waitFor();
});

test('an alert that is acknowledged leaves the open ones', async () => {
  await page.goto('/alerts');
  await button(/^Acknowledge: An hour cost/).click();
  await expect.poll(() => button(/^Acknowledge: An hour cost/).count()).toBe(0);
});

test('a finding that is dismissed is put away', async () => {
  await page.goto('/savings');
  await button(/^Dismiss: The cache is hardly used/).click();
  await expect.poll(async () => (await get('/v1/savings')).length).toBe(2);
});

test('a price change is acknowledged into the history', async () => {
  await page.goto('/models?tab=changes');
  await button('Acknowledge').click();
  await button('Decided changes').click();
  await shown(/acknowledged/);
});

test('a key is shown once when it is made, and refused once it is revoked', async () => {
  await page.goto('/keys');
  await button('Create key').click();
  await page.getByLabel('Name').fill('browser key');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await page
    .getByRole('dialog')
    .getByText(/^gw_live_/)
    .waitFor();
  await button('Done').click();
  await button('Revoke browser key').click();
  await button('Revoke key').click();
  await expect
    .poll(
      async () =>
        (await get('/v1/api-keys')).find((key: { name: string }) => key.name === 'browser key').revoked_at,
    )
    .not.toBeNull();
});

test('a team is made and renamed', async () => {
  await page.goto('/teams');
  await button('Create team').click();
  await page.getByLabel('Name').fill('Data');
  await page.getByRole('dialog').getByRole('button', { name: 'Create team' }).click();
  await button('Change Data').click();
  await page.getByLabel('Name').fill('Data & ML');
  await button('Save').click();
  await region('Teams').getByText('Data & ML').waitFor();
});

test('a webhook is added, tested, and a failed delivery replayed', async () => {
  await page.goto('/webhooks');
  await button('Add endpoint').click();
  await page.getByLabel('Address').fill(`${receiver.url}/mine`);
  await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
  await page.getByRole('dialog').getByText(/^wh_/).waitFor();
  await button('Done').click();
  await page.getByRole('link', { name: `${receiver.url}/mine` }).click();
  await button('Send a test').click();
  await shown(/^Delivered: answered 200/);
  await page.goto(`/webhooks/${seeded.webhookId}`);
  await button(/^Replay/)
    .first()
    .click();
  await shown(/^Not delivered: answered 500/);
});

test('an invoice that is chosen is compared by model', async () => {
  await page.goto('/reconciliation');
  const file = {
    name: 'march.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('model,cost\ngpt-5.6,10\nsora-2,3\n'),
  };
  await page.getByLabel('Invoice or cost export, CSV').setInputFiles(file);
  await button('Compare').click();
  await region('Difference by model').getByText('billed, never seen here').first().waitFor();
});

test('the audit log tells what was just done, filtered by action', async () => {
  await page.goto('/audit?action=team.created');
  await region('Audit entries').getByText('team.created').first().waitFor();
  expect(await region('Audit entries').getByText('user.login').count()).toBe(0);
});

test('settings change the name, the chat, the index and the password, and the session lives on', async () => {
  await page.goto('/settings');
  await page.getByLabel('Name').fill('Acme Renamed');
  await button('Save name').click();
  await page.getByLabel('Incoming-webhook address').fill(`${receiver.url}/services/T0/B0/x`);
  await button('Connect chat').click();
  await page.getByLabel('Take part with what my requests cost').check();
  await page.getByLabel('Current password').fill(seeded.password);
  await page.getByLabel('New password').fill('a better battery');
  await button('Change password').click();
  await shown('The password is changed; every other session has ended.');
  seeded.password = 'a better battery';
  await page.reload();
  await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Acme Renamed');
  expect(await page.getByLabel('Take part with what my requests cost').isChecked()).toBe(true);
});

test('an operator sees a wrong token refused, and with the right one suspends nobody by looking', async () => {
  await page.goto('/operator');
  await page.getByLabel('Operator token').fill('wrong');
  await button('Open console').click();
  await shown('The operator token is not valid.');
  await page.getByLabel('Operator token').fill(gw.operatorToken);
  await button('Open console').click();
  await button('Tenants').click();
  await page.getByRole('button', { name: /^Acme/ }).first().click();
  await page.getByLabel('Notes for operators').fill('met them at the fair');
  await button('Save tenant').click();
  await shown('The tenant is changed.');
  await button('Health & jobs').click();
  await button('Run now: compute_savings').click();
  await shown('compute_savings is queued.');
  await page.reload();
  await page.getByLabel('Operator token').waitFor();
});

test('an operator sets every part of a price, and a form left alone opens no new one', async () => {
  const operator = { token: gw.operatorToken };
  const find = async () =>
    (await gw.call('GET', '/v1/operator/models?search=gpt-4.1-mini&limit=1', operator)).json.data[0];
  const before = await find();
  await page.goto('/operator');
  await page.getByLabel('Operator token').fill(gw.operatorToken);
  await button('Open console').click();
  await button('Models').click();
  await page.getByLabel('Find a model').fill('gpt-4.1-mini');
  await page.getByLabel('Find a model').press('Enter');
  await page.getByRole('button', { name: 'gpt-4.1-mini', exact: true }).click();
  await button('Save model').click();
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  expect((await find()).current_price).toEqual(before.current_price);
  await page.getByRole('button', { name: 'gpt-4.1-mini', exact: true }).click();
  const closed = page.locator('details:not([open]) > summary');
  while ((await closed.count()) > 0) await closed.first().click();
  await page.getByLabel('Threshold, input tokens').fill('200000');
  await page.locator('[name="long.pricing_input_per_mtok"]').fill('0.8');
  await page.getByLabel('Batch').fill('0.5');
  await page.getByLabel('Regions').fill('eu=1.1');
  await page.getByLabel('Web search').fill('10');
  await page.getByLabel('Peak hours').fill('2');
  await page.getByLabel('Peak windows, UTC').fill('08:00-12:30');
  await button('Save model').click();
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  expect((await find()).current_price.price).toMatchObject({
    ...before.current_price.price,
    long_context: { threshold_tokens: 200_000, pricing_input_per_mtok: 0.8 },
    tier_multipliers: { ...before.current_price.price.tier_multipliers, batch: 0.5 },
    region_multipliers: { eu: 1.1 },
    fees: { web_search_per_1k_usd: 10 },
    peak: { multiplier: 2, utc_windows: [{ from: '08:00', to: '12:30' }] },
  });
});

test('the public cost index opens for anyone', async () => {
  await page.context().clearCookies();
  await page.goto('/cost-index?days=30');
  await region('Cost of a request by model').getByText('claude-opus-5').waitFor();
});
