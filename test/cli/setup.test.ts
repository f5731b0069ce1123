import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { BUNDLE, buildClient, type Cli, makeCli } from './gw.ts';

let gateway: Gateway;
let tenant: SignedUp;
let cli: Cli;

beforeAll(async () => {
  buildClient();
  gateway = await startGateway();
  tenant = await gateway.signUp({ email: 'ada@example.com' });
  cli = makeCli(gateway, tenant.token);
});
afterAll(async () => {
  cli.remove();
  await gateway.stop();
});

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

/** A server that gives the same answer to everything. */
async function answering(status: number, headers: Record<string, string>, body: string) {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe('logging in', () => {
  test('init signs up from piped answers and leaves a configuration only its owner can read', async () => {
    const config = join(cli.directory, 'fresh', '.gw', 'config.json');
    const args = [
      '--config',
      config,
      '--api-url',
      gateway.apiUrl,
      'init',
      '--signup',
      '--environment',
      'test',
    ];
    const ran = await cli.run([...args, '--name', 'Acme', '--email', 'eve@example.com'], 'correct horse\n');
    expect(ran).toEqual({
      code: 0,
      stdout: '',
      stderr:
        `✓ Gateway 0.0.0-test answers at ${gateway.apiUrl}.\n` +
        '✓ Opened the account eve@example.com on the plan free and logged in.\n' +
        'Next: gw providers add <provider>, then gw keys create --name <name>. Check all of it: gw doctor\n',
    });
    expect(readJson(config)).toEqual({
      api_url: gateway.apiUrl,
      default_environment: 'test',
      token: expect.stringMatching(/^ey/),
    });
    expect([mode(config), mode(join(config, '..'))]).toEqual(['600', '700']);
    expect(readdirSync(join(config, '..'))).toEqual(['config.json']);
    // default_environment is what new keys get.
    const made = await cli.run(['--config', config, 'keys', 'create', '--name', 'ci']);
    expect(made.stdout).toMatch(/^gw_test_\w+\n$/);
  });

  test('login keeps the token with its gateway, logout forgets it here and only here', async () => {
    const config = join(cli.directory, 'login.json');
    writeFileSync(config, JSON.stringify({ note: 'mine', default_environment: 'test' }), { mode: 0o644 });
    const login = ['--config', config, '--api-url', `${gateway.apiUrl}/`, 'login'];
    expect(await cli.run(login, `ada@example.com\n${tenant.password}\n`)).toEqual({
      code: 0,
      stdout: '',
      stderr: `✓ Logged in as ada@example.com at ${gateway.apiUrl} (plan free).\n`,
    });
    const { token, ...rest } = readJson(config);
    expect(rest).toEqual({ note: 'mine', default_environment: 'test', api_url: gateway.apiUrl });
    expect(mode(config)).toBe('600');
    expect(await cli.run(['--config', config, 'logout'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '✓ Logged out on this machine.\n',
    });
    expect(readJson(config)).toEqual(rest);
    expect((await gateway.call('GET', '/v1/account', { token })).status).toBe(200);
  });

  test('init logs in, keeps where the proxy is, and another gateway never sees the token', async () => {
    const config = join(cli.directory, 'init', 'config.json');
    const init = ['--config', config, '--api-url', `${gateway.apiUrl}/v1/`, 'init'];
    const proxy = ['--proxy-url', `${gateway.proxyUrl}/v1/proxy/openai`];
    expect(await cli.run([...init, ...proxy, '--email', 'ada@example.com'], `${tenant.password}\n`)).toEqual({
      code: 0,
      stdout: '',
      stderr:
        `✓ Gateway 0.0.0-test answers at ${gateway.apiUrl}.\n` +
        `✓ Logged in as ada@example.com at ${gateway.apiUrl} (plan free).\n` +
        'Next: gw providers add <provider>, then gw keys create --name <name>. Check all of it: gw doctor\n',
    });
    const { token, ...rest } = readJson(config);
    expect(rest).toEqual({
      api_url: gateway.apiUrl,
      proxy_url: gateway.proxyUrl,
      default_environment: 'production',
    });
    expect((await gateway.call('GET', '/v1/account', { token })).status).toBe(200);
    expect((await cli.run(init)).stderr).toContain(`Wrote ${config}. Next: gw doctor\n`);
    expect(readJson(config).token).toBe(token);
    const health = JSON.stringify({ status: 'ok', version: '1', db: 'ok' });
    const other = await answering(200, { 'content-type': 'application/json' }, health);
    const moved = await cli.run(['--config', config, '--api-url', other.url, 'init']);
    expect(moved.stderr).toContain('Next: gw login\n');
    expect(readJson(config)).toMatchObject({ api_url: other.url });
    expect(readJson(config).token).toBeUndefined();
    other.close();
  });

  test('init with a wrong password fails and leaves no token', async () => {
    const config = join(cli.directory, 'init-wrong', 'config.json');
    const init = ['--config', config, '--api-url', gateway.apiUrl, 'init', '--email', 'ada@example.com'];
    expect(await cli.run(init, 'wrong horse\n')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('(invalid_credentials)\nTry: gw login, with'),
    });
    expect(readJson(config)).toEqual({ api_url: gateway.apiUrl, default_environment: 'production' });
  });

  test('a wrong password is refused and nothing is written', async () => {
    const config = join(cli.directory, 'wrong.json');
    const args = ['--config', config, '--api-url', gateway.apiUrl, 'login', '--email', 'ada@example.com'];
    expect(await cli.run(args, 'wrong horse\n')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: E-mail address and password do not match an account. (invalid_credentials)\n' +
        'Try: gw login, with the address and password of the account\n',
    });
    expect(existsSync(config)).toBe(false);
  });

  test('without a token a command says how to get one', async () => {
    const stranger = makeCli(gateway);
    expect(await stranger.run(['keys', 'list'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: You are not logged in. (not_logged_in)\nTry: gw login\n',
    });
    stranger.remove();
  });
});

describe('status', () => {
  test('shows health, latency and who is asking', async () => {
    const { code, stdout, stderr } = await cli.run(['status']);
    expect(stdout.replace(/\d+ ms|\d\.\d s/, '<latency>')).toBe(
      `API       ${gateway.apiUrl} ok\n` +
        'Version   0.0.0-test\n' +
        'Database  ok\n' +
        'Latency   <latency>\n' +
        'Account   ada@example.com (plan free), token expires in 23h\n',
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(await cli.print('status', '--json'))).toMatchObject({ status: 'ok', db: 'ok' });
  });

  test('ends with 1 when the API does not answer 200, and still shows what it said', async () => {
    const degraded = {
      status: 'degraded',
      db: 'error',
      version: '9',
      error: 'unavailable',
      message: 'No database.',
    };
    const server = await answering(503, { 'content-type': 'application/json' }, JSON.stringify(degraded));
    const { code, stdout } = await cli.run(['--api-url', server.url, 'status']);
    expect(code).toBe(1);
    expect(stdout).toContain(`API       ${server.url} degraded\nVersion   9\nDatabase  error\n`);
    server.close();
    expect(await cli.run(['--api-url', server.url, 'status'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: Cannot reach ${server.url}: the connection was refused; nothing listens there. (unreachable)\nTry: gw doctor\n`,
    });
  });

  test('at an address that is not a gateway’s says so and ends with 1', async () => {
    expect(await cli.run(['--api-url', gateway.proxyUrl, 'status'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: ${gateway.proxyUrl} answers, but not as a gateway’s API does. (not_a_gateway)\n` +
        'Try: gw init, with the address the gateway prints when it starts\n',
    });
    const teapot = await answering(418, { 'content-type': 'text/plain' }, 'short and stout');
    expect(await cli.run(['--api-url', teapot.url, 'teams', 'list'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${teapot.url} answered 418 with something that is not JSON; is it a gateway? (unreachable)\nTry: gw doctor\n`,
    });
    expect(await cli.run(['--api-url', teapot.url.replace('http', 'https'), 'status'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: Cannot reach https:\S+: it does not speak https\. \(unreachable\)\n/,
      ),
    });
    teapot.close();
  });
});

describe('manners', () => {
  test('both ways to ask give the version of package.json', async () => {
    const { version } = readJson(join(import.meta.dirname, '..', '..', 'package.json'));
    expect(await cli.print('version')).toBe(`${version}\n`);
    expect(await cli.print('--version')).toBe(`${version}\n`);
  });

  test('by itself it shows its commands', async () => {
    const help = await cli.print();
    expect(help).toMatch(/^Usage: gw \[options\] \[command\]\n/);
    for (const name of ['init', 'tail', 'cost', 'webhooks|wh', 'alerts|al', 'ledger', 'completion']) {
      expect(help).toContain(`\n  ${name}`);
    }
  });

  test.each([
    [['kyes'], "Unknown command 'kyes'. Did you mean keys?", 'gw --help'],
    [['keys', 'revok', 'x'], "Unknown command 'revok'. Did you mean revoke?", 'gw keys --help'],
    [['requests', 'shwo'], "Unknown command 'shwo'. Did you mean show?", 'gw requests --help'],
    [['cost', '--form', '2026-01-01'], "Unknown option '--form'. Did you mean --from?", 'gw cost --help'],
    [['req'], "Unknown command 'req'. Did you mean requests?", 'gw --help'],
    [['kill', 'undoo', 'x'], "Unknown command 'undoo'. Did you mean undo?", 'gw kill --help'],
    [['help', 'budgts'], "Unknown command 'budgts'. Did you mean budgets?", 'gw --help'],
    [['wh', 'deliverys'], "Unknown command 'deliverys'. Did you mean deliveries?", 'gw webhooks --help'],
  ])('a typo gets a suggestion: gw %j', async (args, sentence, next) => {
    expect(await cli.run(args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${sentence} (usage)\nTry: ${next}\n`,
    });
  });

  test('what the server warns about is shown on stderr', async () => {
    const headers = { 'content-type': 'application/json', warning: '299 - "unknown field: colour"' };
    const server = await answering(200, headers, '[]');
    expect(await cli.run(['--api-url', server.url, 'teams', 'list', '--json'])).toEqual({
      code: 0,
      stdout: '[]\n',
      stderr: '! unknown field: colour\n',
    });
    server.close();
  });

  test('a file that breaks off on its way is not kept', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv', 'content-length': '100' });
      response.write('id\r\n', () => setTimeout(() => response.destroy(), 50));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const before = readdirSync(cli.directory);
    expect(
      await cli.run(['--api-url', `http://127.0.0.1:${port}`, 'usage', 'export', '-o', 'half.csv']),
    ).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: The answer broke off before its end. (unreachable)\nTry: gw doctor\n',
    });
    expect(readdirSync(cli.directory)).toEqual(before);
    server.close();
  });

  test('a configuration that cannot be read is named, not overwritten', async () => {
    const config = join(cli.directory, 'broken.json');
    writeFileSync(config, '{"token": ');
    expect(await cli.run(['--config', config, 'logout'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: The configuration ${config} cannot be used: it is not JSON. (invalid_config)\n` +
        `Try: rm ${config} && gw init\n`,
    });
    expect(readFileSync(config, 'utf8')).toBe('{"token": ');
  });

  test('the bundle reads no environment variable', () => {
    expect(readFileSync(BUNDLE, 'utf8')).not.toMatch(/process\d?\.env|\bhomedir\(\)/);
  });
});
