import { expect, test } from 'vitest';
import { startGateway } from '../harness.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { buildClient, makeCli } from './gw.ts';
import { writeFileSync } from 'node:fs';
test('try', async () => {
  buildClient();
  const gw = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' } });
  const t = await gw.onboard();
  const cli = makeCli(gw, t.token);
  const show = async (args: string[], input?: string) => { const r = await cli.run(args, input); console.log(`$ gw ${args.join(' ')}  [${r.code}]\n${r.stdout}${r.stderr ? '--- stderr\n' + r.stderr : ''}`); return r; };
  await show(['status']);
  await show(['status', '--json']);
  await show(['teams', 'create', '--name', 'Platform', '--cost-center', 'CC-1']);
  await show(['teams', 'list']);
  const { json: [team] } = await gw.call('GET', '/v1/teams', { token: t.token });
  await recordRequests(gw, t.tenantId, [
    { created_at: '2026-11-01T00:00:00Z', user_name: 'ada', end_customer: 'acme', cost_microdollars: 1_234_567, team_id: team.id, team_slug: 'platform', service_name: 'checkout' },
    { created_at: '2026-11-10T00:00:00Z', user_name: 'bob', model_id: 'claude-x', cost_microdollars: 200, status_code: 500 },
    { created_at: '2026-11-12T00:00:00Z', user_name: 'bob', model_id: 'claude-x', cost_microdollars: 900_000, tokens_input: 123456 },
  ]);
  for (const a of [[], ['--by','model'],['--by','team'],['--by','service'],['--by','user'],['--by','customer'],['--by','agent'],['--team','nope'],['--by','colour'],['--from','2026-02-31'],['--team','platform']]) await show(['cost', ...a]);
  await show(['requests']); const { json: page } = await gw.call('GET', '/v1/usage/requests', { token: t.token });
  await show(['requests', 'show', page.data[0].id]); await show(['requests','show','nope']); await show(['requests','shwo']); await show(['requests','--limit','101']);
  await show(['usage','export']); await show(['usage','export','-o',`${cli.directory}/x.csv`]);
  await show(['keys','list']); await show(['keys','create','--name','ci','--team','platform']); await show(['keys','revoke','x']); await show(['keys','revoke','x','--yes']); await show(['keys','create']); await show(['kyes']); await show(['keys', 'lst']); await show(['keys']);
  await show(['providers','list']); await show(['providers','add','openai'], 'sk-new\n'); await show(['providers','add','zzz'], 'sk-new\n');await show(['providers','add','prov_a']);
  await show(['budgets','list']); await show(['budgets','create','--amount','50','--scope','team','--team','Platform','--mode','hard']); await show(['budgets','create','--amount','0']); await show(['budgets','list']);
  await show(['approvals','list']); await show(['quotas','create','--limit','10']); await show(['quotas','list']);
  const { json: quotas } = await gw.call('GET', '/v1/spend-quotas', { token: t.token });
  await show(['quotas','forecast',quotas?.[0]?.id ?? 'x']);
  await show(['kill','--scope','team','--target','platform','--reason','runaway']); await show(['kill','list']); await show(['kill']); await show(['kill','--scope','team']);
  await show(['models','--provider','prov_d']); await show(['models','changes']); await show(['models','diff','--last','7d']);
  writeFileSync(`${cli.directory}/inv.csv`, 'date,model,cost_usd\n2026-11-01,gpt-5,1.30\n2026-11-02,shadow-1,4.00\n');
  await show(['reconcile','upload',`${cli.directory}/inv.csv`,'--month','2026-11']); await show(['reconcile','upload',`${cli.directory}/none.csv`,'--month','2026-11']); await show(['reconcile','list']);
  const { json: runs } = await gw.call('GET', '/v1/reconciliation', { token: t.token }); await show(['reconcile','show', runs?.[0]?.id ?? 'x']);
  await show(['audit','--last','7d']); await show(['audit','--format','csv']);
  await show(['ledger','list']); await show(['ledger','verify']); await show(['ledger','export','-o',`${cli.directory}/l.csv`]); await show(['ledger','verify','--file',`${cli.directory}/l.csv`]); await show(['ledger','verify','--file',`${cli.directory}/inv.csv`]);await show(['ledger','verify','--file',`${cli.directory}/none.csv`]);
  await show(['wh','create','--url','http://127.0.0.1:9/x']); await show(['wh','list']); const { json: whs } = await gw.call('GET', '/v1/webhooks', { token: t.token }); await show(['wh','test',whs?.webhooks?.[0]?.id ?? 'x']); await show(['wh','deliveries',whs?.webhooks?.[0]?.id ?? 'x']);
  await show(['alerts','list']); await show(['al','test']); await show(['savings','list']);
  await show(['doctor']); await show(['version']); await show(['--version']);
  await show(['login', '--email', t.email], `${t.password}\n`); await show(['login', '--email', t.email], 'wrong\n'); await show(['logout']); await show(['keys','list']);
  await gw.stop();
  expect(1).toBe(1);
}, 300_000);
