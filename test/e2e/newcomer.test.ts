import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resetTokenIn, waitForMails } from '../api/outbox.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { openBrowser, watchComplaints } from './browser.ts';

const PATIENCE_MS = 15_000;
const EMAIL = 'newcomer@example.com';
const PASSWORD = 'correct horse';

let gw: Gateway;
let browser: Browser;
let page: Page;
let complaints: string[];
let key: string;

beforeAll(async () => {
  [gw, browser] = await Promise.all([startGateway(), openBrowser()]);
  const context = await browser.newContext({ baseURL: gw.apiUrl, locale: 'en-US' });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  complaints = watchComplaints(page, gw.apiUrl);
});
afterAll(async () => {
  await browser?.close();
  await gw?.stop();
});

function call(service = 'getting-started'): Promise<{ status: number }> {
  return gw.proxy('/openai/v1/chat/completions', {
    key,
    headers: { 'x-gateway-service': service },
    body: {
      model: 'gpt-5-mini',
      max_completion_tokens: 200,
      messages: [{ role: 'user', content: 'Say hello.' }],
    },
  });
}

/** By the side navigation, as a person goes. */
async function go(name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages of the dashboard' }).getByRole('link', { name }).click();
}

/** Alerts are mailed too, so the mail with the token has to be found among them. */
function resetLink(): Promise<string> {
  return eventually(async () => {
    const mails = await waitForMails(gw.dataDir, EMAIL, 1);
    const mail = mails.find((text) => text.includes('/reset-password?token='));
    if (!mail) throw new Error('no mail with a reset link has come');
    return `/reset-password?token=${resetTokenIn(mail)}`;
  });
}

const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();

test('whoever comes without a session is led to the log-in, and can open an account from there', async () => {
  await page.goto('/budgets');
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await page.getByRole('link', { name: 'Open an account' }).click();
  await page.getByLabel('Name').fill('Newcomer');
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Open account' }).click();
  await page.getByRole('heading', { name: 'Connect' }).waitFor();
});

test('no script of the page can read the session', async () => {
  const kept = await page.evaluate(
    () => `${document.cookie} ${JSON.stringify({ ...localStorage, ...sessionStorage })}`,
  );
  expect(kept).not.toMatch(/eyJ|gateway_session/);
  const [cookie] = await page.context().cookies(`${gw.apiUrl}/v1/account`);
  expect(cookie).toMatchObject({ name: 'gateway_session', httpOnly: true, sameSite: 'Strict', path: '/v1' });
});

test('a provider key and a gateway key make a snippet that works as it stands', async () => {
  await page.getByLabel('Provider key').fill('sk-upstream-prov_a');
  await page.getByRole('button', { name: 'Store key' }).click();
  await shown('Stored, encrypted, and never shown again.');
  await shown('Waiting for your first call.');
  await page.getByRole('button', { name: 'Create key' }).click();
  const snippet = page.getByLabel('Snippet for curl');
  await expect.poll(() => snippet.textContent()).toContain('gw_live_');
  const text = (await snippet.textContent()) ?? '';
  key = /gw_live_\w+/.exec(text)![0];
  expect(text).toContain(`curl ${gw.proxyUrl}/v1/proxy/openai/v1/chat/completions`);
});

test('the page turns green by itself with the first call', async () => {
  expect((await call()).status).toBe(200);
  await shown('Connected.');
});

test('a call shows on the live tail while it is watched', async () => {
  await go('Live tail');
  await page.getByText('live', { exact: true }).waitFor();
  expect((await call('watched-service')).status).toBe(200);
  await page.getByRole('list', { name: 'Events, newest first' }).getByText('watched-service').waitFor();
});

test('from the request log a call opens with its buckets, its rates and its place in the ledger', async () => {
  await go('Requests');
  await page.getByRole('region', { name: 'Requests' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: 'What it cost' }).waitFor();
  await page.getByRole('region', { name: 'Cost by token bucket' }).getByRole('row').nth(2).waitFor();
  await shown('no. 2');
});

test('an approval budget blocks a call, and lets it pass once more is granted', async () => {
  await go('Budgets');
  await page.getByRole('button', { name: 'Create budget' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Amount in US dollars').fill('0.000001');
  await dialog.getByLabel('At its limit').selectOption('approval');
  await dialog.getByRole('button', { name: 'Create budget' }).click();
  await page
    .getByRole('region', { name: 'Budgets', exact: true })
    .last()
    .getByText('Whole account')
    .waitFor();
  expect((await call()).status).toBe(429);
  await page.getByRole('button', { name: 'Approve' }).click();
  await shown('Granted $10.000000 for 24 hours.');
  expect((await call()).status).toBe(200);
});

test('a kill switch stops every call with its reason on record, and lifting it lets them flow', async () => {
  await go('Kill switches');
  await page.getByRole('button', { name: 'Stop traffic' }).click();
  await page.getByLabel('What to stop').selectOption('all');
  await page.getByLabel('Reason').fill('drill');
  await page.getByRole('button', { name: 'Stop everything' }).click();
  await page.getByRole('region', { name: 'Kill switches in force' }).getByText('drill').waitFor();
  expect((await call()).status).toBe(451);
  await page.getByRole('button', { name: 'Lift the switch on Everything' }).click();
  await page.getByRole('region', { name: 'Lifted kill switches' }).getByText('drill').waitFor();
  expect((await call()).status).toBe(200);
});

test('the ledger verifies in front of its owner, and comes as a file', async () => {
  await go('Ledger');
  await page.getByRole('button', { name: 'Verify ledger' }).click();
  await shown('The chain holds: 4 records checked.');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export CSV' }).click();
  expect((await download).suggestedFilename()).toMatch(/ledger.*\.csv$/);
});

test('logging out ends the session on the server, not only on the screen', async () => {
  const [cookie] = await page.context().cookies(`${gw.apiUrl}/v1/account`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  const headers = { 'x-gateway-dashboard': '1', cookie: `gateway_session=${cookie!.value}` };
  expect((await gw.call('GET', '/v1/account', { headers })).status).toBe(401);
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('a forgotten password is set anew by the link that comes by mail', async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByRole('button', { name: 'Send the link' }).click();
  await shown(/a mail with a reset link is on its way/);
  const link = await resetLink();
  await page.goto(link);
  await page.getByLabel('New password').fill('a better battery');
  await page.getByRole('button', { name: 'Change password' }).click();
  await shown('Your password is changed. Log in with the new one.');
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill('a better battery');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('nothing on the way was refused by the policy, broke, or was asked of somebody else', () => {
  expect(complaints).toEqual([]);
});
