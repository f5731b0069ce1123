import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { widthOf } from '../../src/cli/text.ts';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Db, openDatabase } from '../../src/server/store/database.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { openTerminal, withoutWaiting } from './terminal.ts';

let gateway: Gateway;
let tenant: SignedUp & { key: string; keyId: string };
let home: string;

beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.onboard();
});
afterAll(() => gateway.stop());

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gw-home-'));
  mkdirSync(join(home, '.gw'));
  writeConfig({ api_url: gateway.apiUrl, token: tenant.token });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const configFile = () => join(home, '.gw', 'config.json');
const writeConfig = (fields: object) => writeFileSync(configFile(), JSON.stringify(fields));
const readConfig = () => JSON.parse(readFileSync(configFile(), 'utf8'));
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const escapes = (text: string) => [...text.matchAll(/\u001b\[\d+m/g)].length;

async function database<Value>(url: string, work: (db: Db) => Promise<Value>): Promise<Value> {
  const opened = openDatabase({ url, name: 'test', connections: 1, onIdleError: () => {} });
  return opened.asSystem(work).finally(() => opened.close());
}

describe('questions', () => {
  test('init asks what it needs, echoes what may be seen and never the password', async () => {
    const terminal = openTerminal({ homeDir: home });
    const ended = terminal.run('init', '--no-color');
    await terminal.answer(`Address of the gateway [${gateway.apiUrl}]: `, '\r');
    await terminal.answer('Number [1]: ', '2\r');
    await terminal.answer('Name of the account: ', 'Acmé\u007fe\r');
    await terminal.answer('E-mail: ', 'new@example.com\r');
    await terminal.answer('Password (hidden): ', 'battery staple\r');
    expect(await ended).toBe(0);
    expect(withoutWaiting(terminal.stderr())).toBe(
      `Address of the gateway [${gateway.apiUrl}]: \n` +
        `✓ Gateway 0.0.0-test answers at ${gateway.apiUrl}.\n` +
        'Do you have an account on this gateway?\n  1) Yes, log me in\n  2) No, open one (free, no card)\n' +
        'Number [1]: 2\n' +
        'Name of the account: Acmé\b \be\n' +
        'E-mail: new@example.com\n' +
        'Password (hidden): \n' +
        '✓ Opened the account new@example.com on the plan free and logged in.\n' +
        'Next: gw providers add <provider>, then gw keys create --name <name>. Check all of it: gw doctor\n',
    );
    expect(terminal.stdout()).toBe('');
    const { json } = await gateway.call('GET', '/v1/account', { token: readConfig().token });
    expect(json).toMatchObject({ name: 'Acme', email: 'new@example.com' });
  });

  test('a provider key is typed hidden, in raw mode, and stored', async () => {
    const terminal = openTerminal({ homeDir: home });
    const ended = terminal.run('providers', 'add', 'anthropic');
    await terminal.answer('Key of Anthropic (hidden): ', 'sk-secret');
    expect(terminal.isRaw()).toBe(true);
    terminal.type('-1\r');
    expect(await ended).toBe(0);
    expect(terminal.isRaw()).toBe(false);
    expect(terminal.stderr()).not.toContain('secret');
  });

  test('what destroys is done only after yes', async () => {
    const made = await gateway.call('POST', '/v1/api-keys', {
      token: tenant.token,
      body: { name: 'doomed' },
    });
    const isRevoked = async () => {
      const { json } = await gateway.call('GET', '/v1/api-keys', { token: tenant.token });
      return json.find((key: { id: string }) => key.id === made.json.id).revoked_at !== null;
    };
    const question = `Revoke the key ${made.json.id}? Applications that use it stop working. [y/N] `;
    for (const [typed, code, revoked] of [
      ['\r', 1, false],
      ['no\r', 1, false],
      ['y\r', 0, true],
    ] as const) {
      const terminal = openTerminal({ homeDir: home });
      const ended = terminal.run('keys', 'revoke', made.json.id, '--no-color');
      await terminal.answer(question, typed);
      expect([await ended, await isRevoked()]).toEqual([code, revoked]);
      expect(withoutWaiting(terminal.stderr())).toBe(
        `${question}${typed.trim()}\n${revoked ? `✓ Revoked the key ${made.json.id}.` : 'Nothing was done.'}\n`,
      );
    }
  });

  test('Ctrl-C at a question leaves quietly with 130', async () => {
    const terminal = openTerminal({ homeDir: home });
    const ended = terminal.run('keys', 'revoke', tenant.keyId, '--no-color');
    await terminal.answer('[y/N] ', '\u0003');
    expect(await ended).toBe(130);
    expect(terminal.stderr()).toMatch(/\[y\/N\] \n$/);
    expect(terminal.isRaw()).toBe(false);
  });

  test('a kill switch for everything is asked about; one for less is not', async () => {
    const terminal = openTerminal({ homeDir: home });
    const ended = terminal.run('kill', '--scope', 'all');
    await terminal.answer('Stop every request of this account? [y/N] ', 'n\r');
    expect(await ended).toBe(1);
    const other = openTerminal({ homeDir: home });
    expect(await other.run('kill', '--scope', 'service', '--target', 'nobody')).toBe(0);
  });
});

describe('a terminal', () => {
  test('gets colours, unless told not to, and nothing else in them', async () => {
    const coloured = openTerminal({ homeDir: home, columns: 200 });
    expect(await coloured.run('keys', 'list')).toBe(0);
    const plain = openTerminal({ homeDir: home, columns: 200 });
    expect(await plain.run('keys', 'list', '--no-color')).toBe(0);
    expect(escapes(coloured.stdout())).toBeGreaterThan(0);
    expect(escapes(plain.stdout())).toBe(0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
    expect(coloured.stdout().replace(/\u001b\[\d+m/g, '')).toBe(plain.stdout());
  });

  test('is not overrun: names are cut, identifiers are not', async () => {
    const name = 'a team with a name that is much longer than any terminal would like to have in a table';
    const { json: team } = await gateway.call('POST', '/v1/teams', {
      token: tenant.token,
      body: { name, slug: 'long', cost_center: '費用中心'.repeat(5) },
    });
    const terminal = openTerminal({ homeDir: home, columns: 90 });
    expect(await terminal.run('teams', 'list', '--no-color')).toBe(0);
    expect(terminal.stdout()).toBe(
      'NAME               SLUG  COST CENTER        CREATED   ID\n' +
        `a team with a na…  long  費用中心費用中心…  just now  ${team.id}\n`,
    );
  });

  test('of 80 columns holds every table whole', async () => {
    const { token, tenantId } = tenant;
    const post = (path: string, body: object) => gateway.call('POST', path, { token, body });
    await post('/v1/budgets', { amount_usd: 123456.78, mode: 'approval', period: 'monthly' });
    await post('/v1/spend-quotas', {
      dimension_type: 'end_customer',
      dimension_value: 'a'.repeat(60),
      period: 'month',
      limit_microdollars: 1,
    });
    await post('/v1/kill', { scope_type: 'service', scope_value: 'b'.repeat(60), reason: 'c'.repeat(100) });
    await recordRequests(gateway, tenantId, [
      {
        created_at: new Date().toISOString(),
        model_id: 'm'.repeat(60),
        service_name: 's'.repeat(60),
        cost_microdollars: 123_456_789,
      },
    ]);
    await database(gateway.databaseUrl, (db) =>
      raiseAlert(db, {
        tenantId,
        type: 'budget_threshold',
        severity: 'critical',
        title: 't'.repeat(90),
        metadata: {},
        cause: 'test',
      }),
    );
    for (const line of [
      'keys list',
      'teams list',
      'providers list',
      'budgets list',
      'quotas list',
      'kill list',
      'requests',
      'cost',
      'cost --by service',
      'models',
      'ledger list',
      'audit',
      'alerts list',
    ]) {
      const terminal = openTerminal({ homeDir: home, columns: 80 });
      expect(await terminal.run(...line.split(' '), '--no-color')).toBe(0);
      const widest = Math.max(...terminal.stdout().split('\n').map(widthOf));
      expect(widest, terminal.stdout()).toBeLessThanOrEqual(80);
      expect(terminal.stdout().split('\n').length).toBeGreaterThan(2);
    }
  });

  test('is not steered by names that strangers chose', async () => {
    const body = { name: 'red', service_name: '\u009b31m\u202eevil' };
    await gateway.call('POST', '/v1/api-keys', { token: tenant.token, body });
    const terminal = openTerminal({ homeDir: home, columns: 200 });
    expect(await terminal.run('keys', 'list', '--no-color')).toBe(0);
    expect(terminal.stdout()).toContain('\ufffd31m\ufffdevil');
  });
});

describe('waiting', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const isCsv = request.url?.includes('csv');
      response.writeHead(200, { 'content-type': isCsv ? 'text/csv' : 'application/json' });
      response.write(isCsv ? 'id\r\n' : '[');
      setTimeout(() => response.end(isCsv ? '1\r\n' : ']'), 700);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test('is shown after a moment and wiped away at the end', async () => {
    const terminal = openTerminal({ homeDir: home });
    expect(await terminal.run('--api-url', url, 'teams', 'list', '--json')).toBe(0);
    expect(terminal.stdout()).toBe('[]\n');
    expect(terminal.stderr()).toMatch(/^(\r\S+[⠀-⣿] waiting for the gateway)+\r\S+$/u);
    expect(terminal.stderr().endsWith('\r\u001b[2K')).toBe(true);
  });

  test('for a file shows how much has come', async () => {
    const terminal = openTerminal({ homeDir: home });
    expect(await terminal.run('--api-url', url, 'usage', 'export')).toBe(0);
    expect(terminal.stdout()).toBe('id\r\n1\r\n');
    expect(terminal.stderr()).toContain(' receiving 4 B');
  });
});

describe('a login', () => {
  const HOUR_MS = 3_600_000;

  test('is renewed in its second half by whatever command comes', async () => {
    const { token } = await gateway.signUp();
    writeConfig({ api_url: gateway.apiUrl, token });
    const early = openTerminal({ homeDir: home });
    expect(await early.run('teams', 'list')).toBe(0);
    expect(readConfig().token).toBe(token);
    const late = openTerminal({ homeDir: home, nowMs: () => Date.now() + 13 * HOUR_MS });
    expect(await late.run('teams', 'list')).toBe(0);
    expect(readConfig().token).not.toBe(token);
    const { status } = await gateway.call('GET', '/v1/account', { token: readConfig().token });
    expect(status).toBe(200);
  });

  test('that was just ended is not brought back', async () => {
    const late = openTerminal({ homeDir: home, nowMs: () => Date.now() + 13 * HOUR_MS });
    expect(await late.run('logout')).toBe(0);
    expect(readConfig().token).toBeUndefined();
  });
});
