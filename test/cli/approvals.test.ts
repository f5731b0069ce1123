import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { buildClient, type Cli, makeCli } from './gw.ts';

let gateway: Gateway;
let tenant: Awaited<ReturnType<Gateway['onboard']>>;
let cli: Cli;

beforeAll(async () => {
  buildClient();
  gateway = await startGateway();
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  tenant = await gateway.onboard();
  cli = makeCli(gateway, tenant.token);
});
afterEach(() => cli.remove());

/** An approval budget that is too small for anything, and a call that asks for more. */
async function askForMore(): Promise<{ budgetId: string; id: string }> {
  const budget = await cli.run(['budgets', 'create', '--amount', '0.000001', '--mode', 'approval']);
  const refused = await gateway.proxy('/prov_a/v1/chat/completions', {
    key: tenant.key,
    body: { model: 'gpt-4o-mini', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  });
  expect(refused.status).toBe(429);
  const { data } = JSON.parse(await cli.print('approvals', 'list', '--status', 'pending', '--json'));
  return { budgetId: budget.stdout.trim(), id: data[0].id };
}

const ROW = /^STATUS +ASKED +EXTRA +UNTIL +DECIDED BY +BUDGET +ID\n(.*)\n$/;

test('an approval is listed, granted, and then decided', async () => {
  const { budgetId, id } = await askForMore();
  expect(await cli.print('approvals', 'list', '--status', 'pending')).toBe(
    'STATUS   ASKED     EXTRA  UNTIL  DECIDED BY  BUDGET                                ID\n' +
      `pending  just now      -  -      -           ${budgetId}  ${id}\n`,
  );
  expect(await cli.run(['approvals', 'approve', id, '--extra', '20'])).toEqual({
    code: 0,
    stdout: '',
    stderr: '✓ Granted $20.00 for 24 hours.\n',
  });
  expect(await cli.run(['approvals', 'deny', id])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: .+ \(conflict\)\nTry: gw approvals list\n$/),
  });
  const { json } = await gateway.call('GET', '/v1/budget-approvals', { token: tenant.token });
  expect(await cli.print('approvals', 'list', '--json')).toBe(`${JSON.stringify(json, null, 2)}\n`);
});

test('an approval that is denied stays denied, and says by whom', async () => {
  const { budgetId, id } = await askForMore();
  expect(await cli.run(['approvals', 'deny', id])).toEqual({
    code: 0,
    stdout: '',
    stderr: `✓ Denied the approval ${id}.\n`,
  });
  const [, row] = ROW.exec(await cli.print('approvals', 'ls')) ?? [];
  expect(row?.split(/ {2,}/)).toEqual(['denied', 'just now', '-', '-', tenant.email, budgetId, id]);
  expect(await cli.run(['approvals', 'approve', id, '--extra', '1'])).toMatchObject({ code: 1, stdout: '' });
});

test('denying can be read by a program, and what is not there cannot be denied', async () => {
  const { id } = await askForMore();
  const denied = await cli.run(['approvals', 'deny', id, '--json']);
  expect(JSON.parse(denied.stdout)).toMatchObject({ id, status: 'denied', decided_by: tenant.email });
  expect(await cli.run(['approvals', 'deny', 'x'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: There is no approval x. (not_found)\nTry: gw approvals list\n',
  });
});
