import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { BUNDLE, buildClient, type Cli, makeCli } from './gw.ts';
import { withoutWaiting } from './terminal.ts';

/** A machine without a network and without leftovers of earlier installs. */
const OFFLINE = ['--offline', '--no-audit', '--no-fund', '--loglevel', 'error'];
const hasScript = spawnSync('script', ['--version']).status === 0;

const MAX_BUNDLE_BYTES = 200_000;

let gateway: Gateway;
let directory: string;
let tarball: string;

/** Node's own modules that a run of the client has made it load. */
function builtinsLoadedBy(...args: string[]): string[] {
  const script = `
    process.argv.splice(1, 0, 'gw');
    process.on('exit', () => require('fs').writeSync(2, JSON.stringify(process.moduleLoadList)));
    require(${JSON.stringify(BUNDLE)});`;
  const options = { encoding: 'utf8', env: { PATH: process.env.PATH } } as const;
  const { stderr } = spawnSync(process.execPath, ['-e', script, '--', ...args], options);
  return JSON.parse(stderr);
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gw-install-'));
  tarball = buildClient('--pack', directory);
  gateway = await startGateway();
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await gateway.stop();
});

describe('the packed client', () => {
  test('installs globally from its tarball alone and works', async () => {
    const prefix = join(directory, 'prefix');
    execFileSync('npm', ['install', '--global', '--prefix', prefix, ...OFFLINE, tarball], { stdio: 'pipe' });
    const installed = join(prefix, 'bin', 'gw');
    const run = (...args: string[]) => execFileSync(installed, args, { encoding: 'utf8' });
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'),
    );
    expect(run('--version')).toBe(`${version}\n`);
    const { token } = await gateway.signUp();
    const cli = makeCli(gateway, token);
    expect((await cli.run(['teams', 'create', '--name', 'Platform'])).code).toBe(0);
    const ran = await new Promise<string>((resolve, reject) => {
      execFile(installed, ['--config', cli.config, 'teams', 'list'], (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
    });
    expect(ran).toMatch(/^NAME +SLUG +COST CENTER +CREATED +ID\nPlatform /);
    cli.remove();
  });

  test('is one small file without dependencies', () => {
    expect(statSync(BUNDLE).size).toBeLessThan(MAX_BUNDLE_BYTES);
    const installed = join(directory, 'prefix', 'lib', 'node_modules', 'gateway-cli');
    expect(readdirSync(installed).sort()).toEqual(['README.md', 'gw.cjs', 'package.json']);
  });

  test('holds the operations of the contract, and no schema of them', () => {
    const code = readFileSync(BUNDLE, 'utf8');
    expect(code).toContain('/v1/budget-approvals/{id}/deny');
    // How schemas and the library that makes them look, whatever they are minified to.
    for (const mark of ['typebox', '~kind', 'additionalProperties', 'maxLength', 'date-time']) {
      expect(code).not.toContain(mark);
    }
  });

  test.each([['version'], ['--version'], ['--help'], ['keys', '--help']])(
    'starts without loading what only the network or a file needs: gw %s %s',
    (...args) => {
      const loaded = builtinsLoadedBy(...args);
      for (const name of ['crypto', 'http', 'child_process', 'internal/deps/undici/undici']) {
        expect(loaded).not.toContain(`NativeModule ${name}`);
      }
      expect(loaded).toContain('NativeModule fs');
    },
  );
});

describe('doctor', () => {
  let cli: Cli;
  afterAll(() => cli.remove());

  test('follows the way to a provider and says at each stop what to do next', async () => {
    const tenant = await gateway.signUp({ email: 'ada@example.com' });
    cli = makeCli(gateway);
    const head = (text: string) => text.replace(/\d+ ms|\d\.\d s/g, '<time>');
    const reached = `✓ API           ${gateway.apiUrl} answers in <time>, version 0.0.0-test\n✓ Proxy         ${gateway.proxyUrl} answers\n`;
    const stranger = await cli.run(['doctor']);
    expect({ ...stranger, stdout: head(stranger.stdout) }).toEqual({
      code: 1,
      stdout: `${reached}✗ Token         you are not logged in\n- Provider key  not checked\n- Metered call  not checked\n`,
      stderr: 'Next: gw login\n',
    });
    expect((await cli.run(['login', '--email', tenant.email], `${tenant.password}\n`)).code).toBe(0);
    const keyless = await cli.run(['doctor']);
    expect({ ...keyless, stdout: head(keyless.stdout) }).toEqual({
      code: 1,
      stdout: `${reached}✓ Token         logged in as ada@example.com\n✗ Provider key  none is stored\n- Metered call  not checked\n`,
      stderr: 'Next: gw providers add prov_a\n',
    });
    expect((await cli.run(['providers', 'add', 'prov_b'], 'sk-upstream\n')).code).toBe(0);
    const well = await cli.run(['doctor']);
    expect({ ...well, stdout: head(well.stdout) }).toEqual({
      code: 0,
      stdout: `${reached}✓ Token         logged in as ada@example.com\n✓ Provider key  stored for prov_b (Anthropic)\n✓ Metered call  prov_b answered 200 in <time>; logged, cost $0.00\n`,
      stderr:
        'Next: point your application at the proxy with a key of its own: gw keys create --name <name>\n',
    });
    const { json: keys } = await gateway.call('GET', '/v1/api-keys', { token: tenant.token });
    expect(keys).toMatchObject([{ name: 'gw doctor', revoked_at: expect.any(String) }]);
  });

  test('tells a missing proxy and a kill switch apart', async () => {
    const lost = await cli.run(['doctor', '--proxy-url', 'http://127.0.0.1:9', '--json']);
    expect(lost.code).toBe(1);
    expect(JSON.parse(lost.stdout)[1]).toEqual({
      name: 'Proxy',
      result: 'failed',
      detail: expect.stringMatching(/^cannot reach http:\/\/127\.0\.0\.1:9: /),
      next: 'say where the proxy is, once and for all: gw init --proxy-url <url>',
    });
    expect((await cli.run(['kill', '--scope', 'all'])).code).toBe(0);
    const killed = await cli.run(['doctor']);
    expect(killed.stdout).toContain('✗ Metered call  the gateway answered 451 (killed)\n');
    expect(killed.stderr).toBe('Next: gw kill list\n');
  });
});

describe.runIf(hasScript)('in a real terminal', () => {
  /** Types each answer when its question stands at the end of the screen; gives what the screen showed. */
  async function typeInto(cli: Cli, args: string, answers: Array<[question: string, keys: string]>) {
    const command = `'${process.execPath}' '${BUNDLE}' --config '${cli.config}' --no-color ${args}`;
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      stdio: 'pipe',
    });
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      screen += text;
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    for (const [question, keys] of answers) {
      await eventually(async () => {
        if (!screen.endsWith(question)) throw new Error(`the screen shows ${JSON.stringify(screen)}`);
      });
      child.stdin.write(keys);
    }
    return { code: await ended, screen: withoutWaiting(screen).replaceAll('\r\n', '\n') };
  }

  test('a password is asked for without being shown', async () => {
    const tenant = await gateway.signUp({ email: 'eve@example.com' });
    const cli = makeCli(gateway);
    const { code, screen } = await typeInto(cli, 'login', [
      ['E-mail: ', 'eve@example.com\r'],
      ['Password (hidden): ', `${tenant.password}\r`],
    ]);
    expect(screen).toBe(
      `E-mail: eve@example.com\nPassword (hidden): \n✓ Logged in as eve@example.com at ${gateway.apiUrl} (plan free).\n`,
    );
    expect(code).toBe(0);
    cli.remove();
  });

  test('init asks which gateway and whose account, and logs in', async () => {
    const tenant = await gateway.signUp({ email: 'joan@example.com' });
    const cli = makeCli(gateway);
    const { code, screen } = await typeInto(cli, 'init', [
      [`Address of the gateway [${gateway.apiUrl}]: `, '\r'],
      ['Number [1]: ', '1\r'],
      ['E-mail: ', 'joan@example.com\r'],
      ['Password (hidden): ', `${tenant.password}\r`],
    ]);
    expect(screen).toBe(
      `Address of the gateway [${gateway.apiUrl}]: \n` +
        `✓ Gateway 0.0.0-test answers at ${gateway.apiUrl}.\n` +
        'Do you have an account on this gateway?\n  1) Yes, log me in\n  2) No, open one (free, no card)\n' +
        'Number [1]: 1\n' +
        'E-mail: joan@example.com\n' +
        'Password (hidden): \n' +
        `✓ Logged in as joan@example.com at ${gateway.apiUrl} (plan free).\n` +
        'Next: gw providers add <provider>, then gw keys create --name <name>. Check all of it: gw doctor\n',
    );
    expect(code).toBe(0);
    expect(await cli.print('status')).toContain('joan@example.com');
    cli.remove();
  });
});
