import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { buildClient, type Cli, makeCli, type Ran, type Running } from './gw.ts';

let gateway: Gateway;
let tenant: Awaited<ReturnType<Gateway['onboard']>>;
let cli: Cli;
/** Runs beside the other tests, because three attempts take a quarter of a minute. */
let givingUp: Promise<Ran>;
const resumedAfter: Array<string | undefined> = [];

/** Says one thing to its first reader, and hangs up on everyone after that. */
const failing = createServer((request, response) => {
  resumedAfter.push(request.headers['last-event-id'] as string | undefined);
  if (resumedAfter.length > 1) return void response.destroy();
  const alert = { type: 'alert', severity: 'info', title: 'Hello', created_at: '2026-01-01T10:00:00Z' };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`id: 41\ndata: ${JSON.stringify(alert)}\n\n`, () =>
    setTimeout(() => response.destroy(), 50),
  );
});

beforeAll(async () => {
  buildClient();
  gateway = await startGateway();
  tenant = await gateway.onboard();
  cli = makeCli(gateway, tenant.token);
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  const { port } = failing.address() as AddressInfo;
  givingUp = cli.run(['--api-url', `http://127.0.0.1:${port}`, 'tail']);
});
afterAll(async () => {
  failing.close();
  cli.remove();
  await gateway.stop();
});

const call = (model: string, service: string, team = '') =>
  gateway.proxy('/prov_a/v1/chat/completions', {
    key: tenant.key,
    headers: { 'x-gateway-service': service, 'x-gateway-team': team },
    body: { model, max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  });

const shows = (read: () => string, text: string | RegExp) =>
  eventually(async () => {
    const shown = read();
    if (!(typeof text === 'string' ? shown.includes(text) : text.test(shown)))
      throw new Error(`shown: ${shown}`);
  });

const opened = async (...args: string[]): Promise<Running> => {
  const running = cli.start(['tail', ...args]);
  await shows(running.stderr, 'Connected. Ctrl-C ends it.\n');
  return running;
};

test('shows requests and alerts as they happen, filtered, and Ctrl-C leaves quietly with 130', async () => {
  const all = await opened();
  const some = await opened('--json', '--service', 'checkout', '--model', '4O-MINI', '--no-alerts');
  await call('gpt-4o-mini', 'search');
  await call('gpt-4o', 'checkout');
  await call('gpt-4o-mini', 'checkout');
  await gateway.call('POST', '/v1/kill', {
    token: tenant.token,
    body: { scope_type: 'service', scope_value: 'nobody' },
  });
  await shows(all.stdout, /(.*\n){4}/);
  await shows(some.stdout, '\n');
  for (const running of [all, some]) running.interrupt();
  const [shown, filtered] = await Promise.all([all.ended, some.ended]);
  expect([shown.code, filtered.code]).toEqual([130, 130]);
  expect(shown.stderr).toBe('Connected. Ctrl-C ends it.\n');
  const lines = shown.stdout.trimEnd().split('\n');
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^\d\d:\d\d:\d\d {2}200 {2}prov_a {2}gpt-4o-mini\S* +search +\$0\.\d{6} +\d+(\.\d)? m?s$/,
    ),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^\d\d:\d\d:\d\d {2}alert {2}\w+ {2}\S/));
  expect(
    filtered.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    expect.objectContaining({ type: 'request', service: 'checkout', model_requested: 'gpt-4o-mini' }),
  ]);
});

test('leaves out what costs less than asked for', async () => {
  const running = await opened('--min-cost', '1000', '--no-alerts');
  await call('gpt-4o-mini', 'cheap');
  const dear = await opened();
  await call('gpt-4o-mini', 'seen');
  await shows(dear.stdout, 'seen');
  expect(running.stdout()).toBe('');
  for (const one of [running, dear]) one.interrupt();
  await Promise.all([running.ended, dear.ended]);
});

test('of one team, by its name, slug or id, shows that team and no other', async () => {
  const ids = [];
  for (const name of ['Data Platform', 'Research']) {
    const { json } = await gateway.call('POST', '/v1/teams', { token: tenant.token, body: { name } });
    ids.push(json.id);
  }
  const all = await opened('--no-alerts');
  const named = ['Data Platform', 'data-platform', ids[0]];
  const followers = await Promise.all(named.map((team) => opened('--team', team, '--no-alerts')));
  await call('gpt-4o-mini', 'theirs', 'research');
  await call('gpt-4o-mini', 'nobodys');
  await call('gpt-4o-mini', 'ours', 'data-platform');
  await shows(all.stdout, /(.*\n){3}/);
  for (const follower of followers) await shows(follower.stdout, '\n');
  for (const running of [all, ...followers]) running.interrupt();
  const lines = (await all.ended).stdout.trimEnd().split('\n');
  const ours = lines.filter((line) => / Data Platform\/ours +\$0\.\d{6} /.test(line));
  expect([lines.length, ours.length]).toEqual([3, 1]);
  for (const follower of followers) expect((await follower.ended).stdout).toBe(`${ours[0]}\n`);
  expect(await cli.run(['tail', '--team', 'nobody'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: There is no team “nobody”. (not_found)\nTry: gw teams list\n',
  });
});

test('survives a restart of the server, says so, and misses nothing', async () => {
  const first = await startGateway({ simulator: gateway.simulator });
  const port = new URL(first.apiUrl).port;
  const user = await first.onboard();
  const other = makeCli(first, user.token);
  const running = other.start(['tail']);
  await shows(running.stderr, 'Connected. Ctrl-C ends it.\n');
  await first.stop();
  await shows(running.stderr, 'The connection was lost; reconnecting (1 of 3)\n');
  const second = await startGateway({
    simulator: gateway.simulator,
    databaseUrl: first.databaseUrl,
    env: { GATEWAY_PORT: port },
  });
  await shows(running.stderr, /Connected again\.\n$/);
  await second.proxy('/prov_a/v1/chat/completions', {
    key: user.key,
    headers: { 'x-gateway-service': 'after' },
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] },
  });
  await shows(running.stdout, /^\S+ {2}200 {2}prov_a .* after /);
  running.interrupt();
  expect((await running.ended).code).toBe(130);
  other.remove();
  await second.stop();
});

test('takes up where it left off, and gives up after three attempts that fail', async () => {
  expect(await givingUp).toEqual({
    code: 1,
    stdout: '10:00:00  alert  info  Hello\n',
    stderr:
      'Connected. Ctrl-C ends it.\n' +
      [1, 2, 3].map((attempt) => `! The connection was lost; reconnecting (${attempt} of 3)\n`).join('') +
      'error: The stream was lost and 3 attempts did not bring it back. (stream_lost)\nTry: gw status\n',
  });
  expect(resumedAfter).toEqual([undefined, '41', '41', '41']);
});
