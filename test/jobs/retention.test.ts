import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordRequests } from '../api/recorded-requests.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RETENTION_DAYS: '30' } });
});
afterAll(() => gateway.stop());

test('requests past their days are forgotten, whole months and part of one; ledger and rollups stay', async () => {
  const { tenantId, token } = await gateway.signUp();
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  await recordRequests(gateway, tenantId, [
    { created_at: daysAgo(120) },
    { created_at: daysAgo(31) },
    { created_at: daysAgo(29) },
    { created_at: daysAgo(0) },
  ]);
  await gateway.call('POST', '/v1/operator/jobs/forget_old_requests/run', { token: gateway.operatorToken });
  await eventually(async () => {
    const [{ kept }] = (await gateway.sql('select count(*)::int as kept from requests where tenant_id = $1', [
      tenantId,
    ])) as [{ kept: number }];
    expect(kept).toBe(2);
  });
  const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
  expect(verified).toMatchObject({ valid: true, records_checked: 4 });
  const { json: page } = await gateway.call('GET', '/v1/usage/requests', { token });
  expect(page.data).toHaveLength(2);
});
