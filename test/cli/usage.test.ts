import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { buildClient, type Cli, makeCli } from './gw.ts';

let gateway: Gateway;
let tenant: SignedUp & { key: string };
let cli: Cli;
let ids: string[];

const JANUARY = ['--from', '2026-01-01', '--to', '2026-01-31'];

beforeAll(async () => {
  buildClient();
  gateway = await startGateway();
  tenant = await gateway.onboard();
  cli = makeCli(gateway, tenant.token);
  const { json: team } = await gateway.call('POST', '/v1/teams', {
    token: tenant.token,
    body: { name: 'Platform' },
  });
  const platform = { team_id: team.id, team_slug: 'platform', service_name: 'checkout' };
  ids = await recordRequests(gateway, tenant.tenantId, [
    {
      created_at: '2026-01-01T08:00:00Z',
      ...platform,
      user_name: 'ada',
      end_customer: 'acme',
      cost_microdollars: 1_500_000,
    },
    {
      created_at: '2026-01-10T09:30:00Z',
      user_name: 'bob',
      model_id: 'claude-x',
      cost_microdollars: 200,
      status_code: 500,
    },
    {
      created_at: '2026-01-31T23:59:59Z',
      user_name: 'bob',
      model_id: 'claude-x',
      cost_microdollars: 499_800,
      tokens_input: 123_456,
      latency_total_ms: 2_345,
    },
  ]);
});
afterAll(async () => {
  cli.remove();
  await gateway.stop();
});

const api = async (path: string) => (await gateway.call('GET', path, { token: tenant.token })).json;
const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

describe('cost', () => {
  test('by itself is the total, a line of the days, and what cost most', async () => {
    expect(await cli.print('cost', ...JANUARY)).toBe(`Spent     $2.00
Days      2026-01-01 to 2026-01-31
Requests  3 (33% failed)
Tokens    123.7k in, 150 out
Per day   █▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▃ at most $1.50

MODEL     REQUESTS  TOKENS IN  TOKENS OUT   COST  SHARE
gpt-5            1        100          50  $1.50    75%  ████████████████████
claude-x         2     123.6k         100  $0.50    25%  ██████▋

TEAM       REQUESTS  TOKENS IN  TOKENS OUT   COST  SHARE
Platform          1        100          50  $1.50    75%  ████████████████████
(no team)         2     123.6k         100  $0.50    25%  ██████▋
`);
    expect(await cli.print('cost', ...JANUARY, '--json')).toBe(
      json(await api('/v1/usage/summary?from=2026-01-01&to=2026-01-31')),
    );
  });

  test.each([
    ['model', 'by-model', 'gpt-5', 'claude-x'],
    ['team', 'by-team', 'Platform', '(no team)'],
    ['service', 'by-service', 'checkout', '(no service)'],
    ['user', 'by-user', 'ada', 'bob'],
  ])('by %s is a table with bars', async (by, path, first, second) => {
    const width = Math.max(by.length, first.length, second.length);
    expect(await cli.print('cost', '--by', by, ...JANUARY)).toBe(
      `${by.toUpperCase().padEnd(width)}  REQUESTS  TOKENS IN  TOKENS OUT   COST  SHARE\n` +
        `${first.padEnd(width)}         1        100          50  $1.50    75%  ████████████████████\n` +
        `${second.padEnd(width)}         2     123.6k         100  $0.50    25%  ██████▋\n`,
    );
    const raw = await cli.print('cost', '--by', by, ...JANUARY, '--json');
    expect(raw).toBe(json(await api(`/v1/usage/${path}?from=2026-01-01&to=2026-01-31`)));
  });

  test('is filtered by team and model', async () => {
    expect(
      await cli.print('cost', '--by', 'customer', '--team', 'platform', '--model', 'gpt-5', ...JANUARY),
    ).toBe(
      'CUSTOMER  REQUESTS  TOKENS IN  TOKENS OUT   COST  SHARE\n' +
        'acme             1        100          50  $1.50   100%  ████████████████████\n',
    );
  });

  test('by agent is a notice and no failure', async () => {
    expect(await cli.run(['cost', '--by', 'agent'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Spend is not kept by agent. Agents are in the request log: gw usage export\n',
    });
  });

  test('of a day there is not is refused before anything is asked', async () => {
    expect(await cli.run(['cost', '--from', '2026-02-31'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        "error: Option '--from <day>' argument '2026-02-31' is invalid. It must be a day like 2026-01-31. (usage)\nTry: gw cost --help\n",
    });
  });
});

describe('requests', () => {
  test('are listed newest first', async () => {
    expect(await cli.print('requests', ...JANUARY)).toBe(
      'TIME (UTC)           STATUS  PROVIDER  MODEL     SERVICE       IN  OUT       COST  LATENCY  ID\n' +
        `2026-01-31 23:59:59     200  prov_a    claude-x  -         123.5k   50  $0.499800    2.3 s  ${ids[2]}\n` +
        `2026-01-10 09:30:00     500  prov_a    claude-x  -            100   50  $0.000200   200 ms  ${ids[1]}\n` +
        `2026-01-01 08:00:00     200  prov_a    gpt-5     checkout     100   50  $1.500000   200 ms  ${ids[0]}\n`,
    );
    const one = await cli.run(['requests', '--limit', '1', '--model', 'claude-x']);
    expect(one.stdout.split('\n')).toHaveLength(3);
    expect(one.stderr).toBe('Showing 1 of 2. All of them: gw usage export\n');
    for (const [flags, id] of [
      [['--status', '500'], ids[1]],
      [['--service', 'checkout'], ids[0]],
      [['--customer', 'acme'], ids[0]],
      [['--user', 'ada'], ids[0]],
    ] as const) {
      const rows = (await cli.print('requests', ...flags)).trimEnd().split('\n').slice(1);
      expect(rows).toEqual([expect.stringMatching(new RegExp(`  ${id}$`))]);
    }
    expect(await cli.run(['requests', '--model', 'no-such-model'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No requests match. Models are known by the id they were served as: gw cost --by model\n',
    });
    expect(await cli.print('requests', '--limit', '2', '--json')).toBe(
      json(await api('/v1/usage/requests?limit=2')),
    );
  });

  test('can be looked at one by one', async () => {
    expect(await cli.print('requests', 'show', ids[0]!)).toBe(
      json(await api(`/v1/usage/requests/${ids[0]}`)),
    );
    expect(await cli.run(['requests', 'show', 'nonsense'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: There is no request nonsense. (not_found)\nTry: gw requests\n',
    });
  });

  test('go into a file whole, or to stdout', async () => {
    const file = join(cli.directory, 'requests.csv');
    const { text } = await gateway.call('GET', '/v1/usage/requests?format=csv&service=checkout', {
      token: tenant.token,
    });
    const ran = await cli.run(['usage', 'export', '--service', 'checkout', '-o', file]);
    expect(ran).toEqual({ code: 0, stdout: '', stderr: `✓ Wrote ${file} (${text.length} B).\n` });
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(await cli.print('usage', 'export', '--team', 'Platform')).toBe(text);
    const nowhere = join(cli.directory, 'no');
    expect(await cli.run(['usage', 'export', '-o', join(nowhere, 'such.csv')])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: There is no directory ${nowhere}. (no_such_directory)\nTry: mkdir -p ${nowhere}\n`,
    });
    expect(readdirSync(cli.directory).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

describe('the ledger', () => {
  test('is listed and verified', async () => {
    const { data } = await api('/v1/ledger');
    const hash = (index: number) => data[index].record_hash.slice(0, 16);
    expect(await cli.print('ledger', 'list')).toBe(
      'SEQ  TIME (UTC)           KIND     PROVIDER  MODEL     PATH                    IN  OUT       COST  HASH\n' +
        `  3  2026-01-31 23:59:59  request  prov_a    claude-x  /-/-                123.5k   50  $0.499800  ${hash(0)}\n` +
        `  2  2026-01-10 09:30:00  request  prov_a    claude-x  /-/-                   100   50  $0.000200  ${hash(1)}\n` +
        `  1  2026-01-01 08:00:00  request  prov_a    gpt-5     /platform/checkout     100   50  $1.500000  ${hash(2)}\n`,
    );
    expect(await cli.print('ledger', 'list', '--limit', '1', '--offset', '1', '--json')).toBe(
      json(await api('/v1/ledger?limit=1&offset=1')),
    );
    expect(await cli.print('ledger', 'verify')).toBe('valid: 3 records, 1 to 3\n');
    expect(await cli.print('ledger', 'verify', '--from-seq', '2', '--to-seq', '2', '--json')).toBe(
      json({ valid: true, records_checked: 1, first_seq: 2, last_seq: 2 }),
    );
  });

  test('is verified offline from its export, and one changed character is found', async () => {
    const file = join(cli.directory, 'ledger.csv');
    const away = makeCli({ apiUrl: 'http://127.0.0.1:9', proxyUrl: 'http://127.0.0.1:9' });
    expect((await cli.run(['ledger', 'export', '-o', file])).code).toBe(0);
    expect(await away.print('ledger', 'verify', '--file', file)).toBe('valid: 3 records, 1 to 3\n');
    const whole = readFileSync(file, 'utf8');
    const forged = join(cli.directory, 'forged.csv');
    writeFileSync(forged, whole.replace('claude-x', 'claude-y'));
    expect(await away.run(['ledger', 'verify', '--file', forged])).toEqual({
      code: 1,
      stdout:
        'broken: at record 2: record 2 was changed: its fields do not match its hash (1 record before it hold)\n',
      stderr: '',
    });
    const lines = whole.split('\r\n');
    writeFileSync(forged, [lines[0], ...lines.slice(2)].join('\r\n'));
    expect(await away.print('ledger', 'verify', '--file', forged)).toBe(
      'valid: 2 records, 2 to 3; what came before them is not in the file\n',
    );
    writeFileSync(forged, '');
    expect(await away.run(['ledger', 'verify', '--file', forged])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${forged} is not a ledger export. (invalid_file)\nTry: gw ledger export -o ${forged}\n`,
    });
    const other = join(cli.directory, 'other.csv');
    writeFileSync(other, 'id,cost_usd\r\n1,2\r\n');
    expect(await away.run(['ledger', 'verify', '--file', other])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: ${other} is not a ledger export. (invalid_file)\nTry: gw ledger export -o ${other}\n`,
    });
    expect((await away.run(['ledger', 'verify', '--file', cli.directory])).stderr).toBe(
      `error: ${cli.directory} is a directory, not a ledger export. (not_a_file)\nTry: ls ${cli.directory}\n`,
    );
    away.remove();
  });

  test('that is broken on the server ends with 1', async () => {
    const other = await gateway.signUp();
    await recordRequests(gateway, other.tenantId, [{ created_at: '2026-01-01T00:00:00Z' }]);
    await gateway.sql('alter table ledger_records disable trigger user');
    await gateway.sql('update ledger_records set tokens_input = 7 where tenant_id = $1', [other.tenantId]);
    await gateway.sql('alter table ledger_records enable trigger user');
    const cheated = makeCli(gateway, other.token);
    expect(await cheated.run(['ledger', 'verify'])).toEqual({
      code: 1,
      stdout:
        'broken: at record 1: record 1 was changed: its fields do not match its hash (0 records before it hold)\n',
      stderr: '',
    });
    cheated.remove();
  });
});

test('audit', async () => {
  const lines = (await cli.print('audit', '--last', '1d', '--limit', '500')).split('\n');
  expect(lines[0]).toMatch(/^TIME \(UTC\) +ACTION +BY +IP +RESOURCE +DETAILS$/);
  expect(lines.at(-2)).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}tenant\.signed_up +user {2}127\.0\.0\.1 {2}\S+ {2}-$/,
  );
  const { text } = await gateway.call('GET', '/v1/audit?format=csv', { token: tenant.token });
  expect(await cli.print('audit', '--format', 'csv')).toBe(text);
  expect(await cli.print('audit', '--json')).toBe(json(await api('/v1/audit?limit=100')));
  expect((await cli.run(['audit', '--limit', '1'])).stderr).toMatch(
    /^Showing 1 of \d+\. All of them: gw audit --format csv\n$/,
  );
  expect(await cli.run(['audit', '--last', '7 days'])).toMatchObject({
    code: 1,
    stderr:
      "error: Option '--last <span>' argument '7 days' is invalid. It must be a span like 12h, 30d or 4w. (usage)\nTry: gw audit --help\n",
  });
});

test('reconciliation', async () => {
  const file = join(cli.directory, 'invoice "1".csv');
  writeFileSync(file, 'date,model,cost_usd\n2026-01-01,gpt-5,1.60\n2026-01-02,shadow-1,4.00\n');
  const ran = await cli.run(['reconcile', 'upload', file, '--month', '2026-01']);
  const id = /[0-9a-f-]{36}/.exec(ran.stdout)?.[0];
  expect(ran).toEqual({
    code: 0,
    stdout: `Run         ${id}
Invoice     $5.60
Ledger      $2.00
Difference  $3.60
Lines       1 matched, 1 not
Shadow AI   1 billed model the gateway never saw
`,
    stderr: `By model: gw reconcile show ${id}\n`,
  });
  expect(await cli.print('reconcile', 'show', id!)).toBe(`Invoice     $5.60 (prov_a, 2026-01, generic)
Ledger      $2.00
Difference  $3.60

MODEL     INVOICE  LEDGER  DIFFERENCE  SHARE  REQUESTS  STATUS
shadow-1    $4.00   $0.00       $4.00   100%         0  only_invoice
claude-x    $0.00   $0.50      -$0.50      -         2  only_ledger
gpt-5       $1.60   $1.50       $0.10   6.3%         1  matched
`);
  expect(await cli.print('reconcile', 'list')).toBe(
    'MONTH    PROVIDER  STATUS     INVOICE  LEDGER  DIFFERENCE  MATCHED  SHADOW AI  MADE      ID\n' +
      `2026-01  prov_a    completed    $5.60   $2.00       $3.60      1/2          1  just now  ${id}\n`,
  );
  expect(await cli.print('reconcile', 'list', '--json')).toBe(json(await api('/v1/reconciliation')));
  writeFileSync(file, 'this is no invoice');
  expect(await cli.run(['reconcile', 'upload', file, '--month', '2026-01'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: .* \(parse_error\)\nTry: gw reconcile upload --help\n$/),
  });
  expect(await cli.run(['reconcile', 'upload', `${file}x`, '--month', '2026-01'])).toMatchObject({
    code: 1,
    stderr: `error: There is no file ${file}x. (no_such_file)\nTry: ls ${cli.directory}\n`,
  });
  expect(
    await cli.run(['reconcile', 'upload', file, '--month', '2026-01', '--provider', 'deepseek']),
  ).toMatchObject({
    code: 1,
    stderr:
      'error: Invoices can be compared of prov_a (OpenAI), prov_b (Anthropic), prov_c (Gemini). (invalid_provider)\n' +
      'Try: gw reconcile upload --help\n',
  });
  expect((await cli.run(['reconcile', 'delete', id!, '--yes'])).stderr).toBe(`✓ Deleted the run ${id}.\n`);
});

test('savings', async () => {
  const id = randomUUID();
  await gateway.sql(
    `insert into savings_findings (tenant_id, id, finding_type, provider, model_id, service_name, period_start, period_end,
       current_cost_microdollars, optimized_cost_microdollars, savings_microdollars, recommendation_text, created_at)
     values ($1, $2, 'idle_models', 'prov_a', 'gpt-5', '', now(), now(), 12500000, 2500000, 10000000, 'Use less.', now())`,
    [tenant.tenantId, id],
  );
  expect(await cli.run(['savings', 'list', '--min-savings', '10'])).toEqual({
    code: 0,
    stdout:
      'FINDING      MODEL  SERVICE    COST   SAVES  WHAT TO DO  ID\n' +
      `idle_models  gpt-5  -        $12.50  $10.00  Use less.   ${id}\n`,
    stderr: 'Findings can concern the same requests, so their savings do not add up.\n',
  });
  expect(await cli.print('savings', 'list', '--json')).toBe(json(await api('/v1/savings')));
  expect((await cli.run(['savings', 'list', '--min-savings', '10.01'])).stdout).toBe('');
  expect((await cli.run(['savings', 'dismiss', id])).stderr).toBe('✓ Dismissed the finding for gpt-5.\n');
  expect(await api('/v1/savings')).toEqual([]);
});

test('price changes', async () => {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  await recordRequests(gateway, tenant.tenantId, [
    {
      created_at: yesterday,
      provider: 'prov_d',
      model_requested: 'codestral-2508',
      model_id: 'codestral-2508',
      tokens_input: 1_000_000,
    },
  ]);
  const { json: models } = await gateway.call(
    'GET',
    '/v1/operator/models?provider=prov_d&search=codestral-2508',
    {
      token: gateway.operatorToken,
    },
  );
  const changed = await gateway.call('PUT', `/v1/operator/models/${models.data[0].id}`, {
    token: gateway.operatorToken,
    body: { pricing_input_per_mtok: 0.6 },
  });
  expect(changed.status).toBe(200);
  const [change] = await api('/v1/models/changes');
  const day = change.effective_at.slice(0, 10);
  expect(await cli.print('models', 'changes')).toBe(
    'EFFECTIVE   MODEL           CHANGE               YOUR MONTH  ID\n' +
      `${day}  codestral-2508  input $0.30 → $0.60      +$0.30  ${change.id}\n`,
  );
  expect(await cli.print('models', 'diff', '--last', '7d')).toBe(
    `prov_d codestral-2508 from ${day}\n- pricing_input_per_mtok $0.30\n+ pricing_input_per_mtok $0.60\n`,
  );
  expect(await cli.print('models', 'changes', '--json')).toBe(json(await api('/v1/models/changes')));
  expect((await cli.run(['models', 'diff', '--provider', 'prov_a'])).stderr).toBe(
    'No price of a model you used changed in that time.\n',
  );
});

test.each([
  [['cost'], 'gw cost --help'],
  [['requests'], 'gw requests --help'],
  [['usage', 'export'], 'gw usage export --help'],
  [['audit'], 'gw audit --help'],
  [['ledger', 'export'], 'gw ledger export --help'],
])('a range that ends before it begins is refused: gw %j', async (args, next) => {
  expect(await cli.run([...args, '--from', '2026-02-01', '--to', '2026-01-31'])).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: The first day, 2026-02-01, lies after the last, 2026-01-31. (usage)\nTry: ${next}\n`,
  });
});
