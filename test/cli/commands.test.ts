import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { buildClient, type Cli, makeCli } from './gw.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
const ID = new RegExp(`^${UUID.source}\n$`);

let gateway: Gateway;
let tenant: SignedUp;
let cli: Cli;

beforeAll(async () => {
  buildClient();
  gateway = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' } });
  tenant = await gateway.signUp({ email: 'ada@example.com' });
  cli = makeCli(gateway, tenant.token);
});
afterAll(async () => {
  cli.remove();
  await gateway.stop();
});

const api = async (path: string) => (await gateway.call('GET', path, { token: tenant.token })).json;

/** With --json a command prints what the API answers, no more and no less. */
async function expectJson(args: string[], path: string): Promise<void> {
  expect(await cli.print(...args, '--json')).toBe(`${JSON.stringify(await api(path), null, 2)}\n`);
}

async function expectGone(args: string[], done: string): Promise<void> {
  expect(await cli.run(args)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: Nothing was done: without a terminal to ask on, this needs --yes. (confirmation_required)\n' +
      `Try: gw ${args.join(' ')} --yes\n`,
  });
  expect(await cli.run([...args, '--yes'])).toEqual({ code: 0, stdout: '', stderr: `✓ ${done}\n` });
}

const missing = (what: string, id: string, list: string) => ({
  code: 1,
  stdout: '',
  stderr: `error: There is no ${what} ${id}. (not_found)\nTry: ${list}\n`,
});

test('teams', async () => {
  expect(await cli.run(['teams', 'list'])).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No teams yet. Next: gw teams create --name <name>\n',
  });
  const made = await cli.run(['teams', 'create', '--name', 'Platform', '--cost-center', 'CC-104']);
  expect(made).toEqual({
    code: 0,
    stdout: expect.stringMatching(ID),
    stderr: '✓ Created the team Platform (platform).\n',
  });
  expect(await cli.print('teams', 'ls')).toBe(
    `NAME      SLUG      COST CENTER  CREATED   ID\nPlatform  platform  CC-104       just now  ${made.stdout}`,
  );
  await expectJson(['teams', 'list'], '/v1/teams');
});

test('keys', async () => {
  const made = await cli.run(['keys', 'create', '--name', 'ci', '--env', 'test', '--team', 'Platform']);
  expect(made.stdout).toMatch(/^gw_test_\w{38,}\n$/);
  const [key] = await api('/v1/api-keys');
  expect(made.stderr).toBe(`✓ Created the test key ci (${key.id}). Keep it: it is not shown again.\n`);
  expect(await cli.print('keys', 'list')).toBe(
    'NAME  PREFIX         ENV   TEAM      SERVICE  LAST USED  STATE   REVOKED  ID\n' +
      `ci    ${made.stdout.slice(0, 13)}  test  Platform  -        never      active  -        ${key.id}\n`,
  );
  await expectJson(['keys', 'list'], '/v1/api-keys');
  expect(await cli.run(['keys', 'create', '--name', 'ci', '--team', 'nobody'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: There is no team “nobody”. (not_found)\nTry: gw teams list\n',
  });
  expect(await cli.run(['keys', 'revoke', 'x', '--yes'])).toEqual(missing('key', 'x', 'gw keys list'));
  await expectGone(['keys', 'revoke', key.id], `Revoked the key ${key.id}.`);
  expect(await cli.print('keys', 'list')).toContain(`never      revoked  just now  ${key.id}\n`);
});

test('providers', async () => {
  const stored = await cli.run(['providers', 'add', 'openai'], 'sk-upstream\n');
  expect(stored).toEqual({
    code: 0,
    stdout: expect.stringMatching(ID),
    stderr: '✓ Stored the key of prov_a.\n',
  });
  expect(await cli.run(['providers', 'add', 'prov_a'], 'sk-upstream-2')).toEqual({
    code: 0,
    stdout: stored.stdout,
    stderr: '✓ Rotated the key of prov_a to version 2.\n',
  });
  expect(await cli.print('providers', 'list')).toBe(
    `PROVIDER  LABEL   VERSION  ROTATED   CREATED   ID\nprov_a    OpenAI        2  just now  just now  ${stored.stdout}`,
  );
  await expectJson(['providers', 'list'], '/v1/provider-keys');
  expect(await cli.run(['providers', 'add', 'prov_z'], 'x\n')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: “prov_z” is no provider; there are prov_a (OpenAI), prov_b (Anthropic), prov_c (Gemini), prov_d (DeepSeek / OpenAI-compatible). (invalid_provider)\n' +
      'Try: gw providers add --help\n',
  });
  const id = stored.stdout.trim();
  await expectGone(['providers', 'delete', id], `Removed the provider key ${id}.`);
});

test('budgets', async () => {
  const args = [
    '--scope',
    'team',
    '--team',
    'Platform',
    '--amount',
    '50.5',
    '--period',
    'daily',
    '--mode',
    'hard',
  ];
  const made = await cli.run(['budgets', 'set', ...args]);
  expect(made.stdout).toMatch(ID);
  expect(made.stderr).toMatch(/^✓ Created a daily hard budget of \$50\.50; it resets in \d+[hm]\.\n$/);
  const listed = await cli.print('budgets', 'ls');
  expect(listed.replace(/in \d+[hm] */, '<reset>  ').replace(/RESETS */, 'RESETS   ')).toBe(
    'SCOPE          MODE  PERIOD   LIMIT  SPENT  USED    RESETS   ID\n' +
      `team Platform  hard  daily   $50.50  $0.00    0%    <reset>  ${made.stdout}`,
  );
  await expectJson(['budgets', 'list'], '/v1/budgets');
  expect(await api('/v1/budgets')).toMatchObject([{ scope_type: 'team', amount_usd: 50.5 }]);
  expect(await cli.run(['budgets', 'create', '--scope', 'agent', '--amount', '5'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: The scope agent needs --agent. (scope_value_required)\n' +
      'Try: gw budgets create --scope agent --agent <name> --amount <usd>\n',
  });
  expect(await cli.run(['budgets', 'create', '--amount', '0'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      "error: Option '--amount <usd>' argument '0' is invalid. It must be more than 0. (usage)\nTry: gw budgets create --help\n",
  });
  // A limit meant for one team must not fall on everybody.
  expect(await cli.run(['budgets', 'create', '--team', 'Platform', '--amount', '5'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: --team is for the scope team; this would be a budget for the scope org. (usage)\n' +
      'Try: gw budgets create --scope team --team Platform --amount 5\n',
  });
  expect(await cli.run(['budgets', 'create', '--scope', 'team', '--team', 'x', '--amount', '5'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: --team is not valid: it must be the id, slug or name of one of your teams. (invalid_field)\n' +
      'Try: gw budgets create --help\n',
  });
  const id = made.stdout.trim();
  await expectGone(['budgets', 'delete', id], `Deleted the budget ${id}.`);
  const org = await cli.run(['budgets', 'create', '--amount', '1', '--json']);
  expect(JSON.parse(org.stdout)).toMatchObject({
    scope_type: 'organization',
    period: 'monthly',
    mode: 'soft',
  });
  expect((await cli.run(['budgets', 'remove', JSON.parse(org.stdout).id, '-y'])).code).toBe(0);
});

test('quotas', async () => {
  const args = ['--dimension', 'service', '--value', 'checkout', '--limit', '200', '--thresholds', '80,150'];
  const made = await cli.run(['quotas', 'create', ...args]);
  expect(made).toEqual({
    code: 0,
    stdout: expect.stringMatching(ID),
    stderr: '✓ Created a quota of $200.00 per month.\n',
  });
  const id = made.stdout.trim();
  expect(await cli.print('quotas', 'list')).toBe(
    `DIMENSION  VALUE     PERIOD    LIMIT  TELLS AT  ON   ID\nservice    checkout  month   $200.00  80% 150%  yes  ${id}\n`,
  );
  await expectJson(['quotas', 'list'], '/v1/spend-quotas');
  expect(await cli.print('quotas', 'forecast', id)).toMatch(
    /^Quota {8}service checkout\nState {8}\w+\nSpent {8}\$0\.00 of \$200\.00 \(0%\)\nProjected {4}.+\nExhausted {4}-\nPeriod ends {2}in \d+\w\n$/,
  );
  await expectGone(['quotas', 'delete', id], `Deleted the quota ${id}.`);
});

test('kill switches', async () => {
  const made = await cli.run(['kill', '--scope', 'service', '--target', 'checkout', '--reason', 'runaway']);
  const id = made.stdout.trim();
  expect(made).toEqual({
    code: 0,
    stdout: `${id}\n`,
    stderr: `✓ Stopped requests of service checkout. Undo: gw kill undo ${id}\n`,
  });
  expect(await cli.print('kill', 'list')).toBe(
    'STATE   SCOPE    TARGET    REASON   BY               SINCE     LIFTED  ID\n' +
      `active  service  checkout  runaway  ada@example.com  just now  -       ${id}\n`,
  );
  expect(await cli.run(['kill', 'undo', id])).toEqual({
    code: 0,
    stdout: '',
    stderr: `✓ Lifted the kill switch ${id}; requests flow again.\n`,
  });
  await expectJson(['kill', 'list'], '/v1/kill');
  // In the night nobody is there to say yes.
  const all = await cli.run(['kill', 'activate', '--scope', 'all', '--json']);
  expect(JSON.parse(all.stdout)).toMatchObject({ scope_type: 'all', scope_value: '*' });
  expect((await cli.run(['kill', 'undo', JSON.parse(all.stdout).id])).code).toBe(0);
  expect(await cli.run(['kill', '--scope', 'team'])).toMatchObject({
    code: 1,
    stderr:
      'error: The scope team needs --target. (scope_value_required)\nTry: gw kill --scope team --target <which>\n',
  });
});

describe('webhooks', () => {
  let receiver: Server;
  let status = 204;
  let url = '';
  beforeAll(async () => {
    receiver = createServer((_request, response) => response.writeHead(status).end());
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  });
  afterAll(() => void receiver.close());

  test('are made, tested, watched and deleted', async () => {
    const made = await cli.run(['wh', 'create', '--url', url]);
    const id = UUID.exec(made.stdout)![0];
    expect(made.stdout).toMatch(
      new RegExp(`^ID      ${id}\nURL     ${url}\nEvents  alert.all\nSecret  wh_[\\w+/]{43}=\n$`),
    );
    expect(made.stderr).toBe(`✓ Keep the secret: it is not shown again. Next: gw webhooks test ${id}\n`);
    expect(await cli.print('webhooks', 'test', id)).toMatch(/^succeeded: answered 204 in \d/);
    status = 500;
    const failed = await cli.run(['wh', 'test', id]);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/^failed: answered 500 in \d/);
    const deliveries = (await cli.print('wh', 'deliveries', id)).split('\n');
    expect(deliveries[0]).toMatch(/^CREATED +EVENT +STATUS +CODE +ATTEMPTS +NEXT +ERROR +ID$/);
    expect(deliveries[1]).toMatch(/^just now {2}webhook\.test {2}failed +500 +1 /);
    expect(deliveries[2]).toMatch(/^just now {2}webhook\.test {2}succeeded +204 +1 /);
    await expectJson(['wh', 'deliveries', id], `/v1/webhooks/${id}/deliveries`);
    expect(await cli.print('wh', 'list')).toMatch(
      new RegExp(
        `^URL +EVENTS +STATE +LAST +WHEN +ID\n${url}  alert.all  active  failed  just now  ${id}\n$`,
      ),
    );
    await expectJson(['webhooks', 'list'], '/v1/webhooks');
    await expectGone(['webhooks', 'delete', id], `Deleted the webhook ${id}.`);
  });

  test('hear only of events there are', async () => {
    const ran = await cli.run(['wh', 'create', '--url', url, '--events', 'alert.kill_switch,alert.rain']);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(
      /^error: “alert\.rain” is no event type; there are alert\.all, .*\(invalid_event_type\)\n/,
    );
  });
});

test('alerts', async () => {
  const raised = '2026-01-05T10:00:00Z';
  const id = randomUUID();
  await gateway.sql(
    `insert into alerts (tenant_id, id, alert_type, severity, title, cause, created_at)
     values ($1, $2, 'cost_anomaly', 'critical', 'Spend is 9 times the usual', 'test', $3)`,
    [tenant.tenantId, id, raised],
  );
  expect(await cli.print('al', 'list', '--unread', '--type', 'cost_anomaly', '--severity', 'critical')).toBe(
    'WHEN        SEVERITY  TYPE          TITLE                       READ  ID\n' +
      `2026-01-05  critical  cost_anomaly  Spend is 9 times the usual  no    ${id}\n`,
  );
  await expectJson(['alerts', 'list', '--limit', '1'], '/v1/alerts?limit=1');
  expect(await cli.run(['alerts', 'ack', id])).toEqual({
    code: 0,
    stdout: '',
    stderr: '✓ Acknowledged: Spend is 9 times the usual\n',
  });
  expect(await cli.print('alerts', 'list', '--type', 'cost_anomaly')).toContain(`the usual  yes   ${id}\n`);
  expect(await cli.print('alerts', 'test')).toBe('email: sent\n');
  expect(await cli.run(['alerts', 'ack', 'x'])).toEqual(missing('alert', 'x', 'gw alerts list'));
});

test('models', async () => {
  const models = await cli.print('models', '--provider', 'deepseek');
  expect(models).toMatch(
    /^PROVIDER +MODEL +INPUT\/MTOK +OUTPUT\/MTOK +CACHED\/MTOK +CONTEXT +PRICED +STATUS\n/,
  );
  expect(models).toMatch(
    /\nprov_d {4}codestral-2508 +\$0\.30 +\$0\.90 +- +256\.0k {2}2025-01-01 {2}active\n/,
  );
  await expectJson(['models', '--provider', 'prov_d'], '/v1/models?provider=prov_d');
  expect((await cli.run(['models', '--provider', 'x'])).stderr).toMatch(
    /^error: “x” is no provider; .* \(invalid_provider\)\nTry: gw models --help\n$/,
  );
});

test('a command that is refused for its token says so', async () => {
  const expired = makeCli(gateway, 'eyJhbGciOiJIUzI1NiJ9.e30.x');
  expect(await expired.run(['audit'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: The token or key is not valid, has expired or was revoked. (invalid_token)\nTry: gw login\n',
  });
  expect(await expired.print('status')).toContain(
    'Account   The token or key is not valid, has expired or was revoked. (gw login)\n',
  );
  expired.remove();
  const claims = Buffer.from(JSON.stringify({ exp: Date.now() / 1_000 - 3 * 3_600 })).toString('base64url');
  const late = makeCli(gateway, `eyJhbGciOiJIUzI1NiJ9.${claims}.x`);
  expect(await late.run(['audit'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: Your login expired 3h ago. (invalid_token)\nTry: gw login\n',
  });
  expect(await late.print('status')).toContain('Account   Your login expired 3h ago. (gw login)\n');
  late.remove();
});
