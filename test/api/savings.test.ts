import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());

const list = async (token: string, query = '') =>
  (await gw.call('GET', `/v1/savings${query}`, { token })).json;
const dismiss = (token: string, id: string) => gw.call('POST', `/v1/savings/${id}/dismiss`, { token });

/** A finding as the analysis leaves it; how it comes to be is tested with the job. */
async function plant(tenantId: string, model: string, service: string, savings: number): Promise<string> {
  const [row] = await gw.sql<{ id: string }>(
    `insert into savings_findings (
       tenant_id, id, finding_type, provider, model_id, service_name, period_start, period_end,
       current_cost_microdollars, optimized_cost_microdollars, savings_microdollars, recommendation_text, created_at)
     values ($1, gen_random_uuid(), 'duplicate_prompts', 'prov_a', $2, $3, '2026-05-01Z', '2026-05-31Z', $4, 500000,
             $4::bigint - 500000, 'Do so.', '2026-05-31T02:00:00Z')
     returning id`,
    [tenantId, model, service, savings + 500_000],
  );
  return row!.id;
}

describe('savings findings', () => {
  it('are listed with their figures, the largest saving first, each tenant’s own', async () => {
    const tenant = await gw.signUp();
    const other = await gw.signUp();
    await plant(tenant.tenantId, 'gpt-5', '', 1_500_000);
    const id = await plant(tenant.tenantId, 'gpt-4o', 'chat', 7_000_000);
    await plant(other.tenantId, 'o3', '', 9_000_000);
    const found = await list(tenant.token);
    expect(found.map((f: { model_id: string }) => f.model_id)).toEqual(['gpt-4o', 'gpt-5']);
    expect(found[1].service_name).toBeNull();
    expect(found[0]).toEqual({
      id,
      finding_type: 'duplicate_prompts',
      provider: 'prov_a',
      model_id: 'gpt-4o',
      service_name: 'chat',
      period_start: '2026-05-01T00:00:00.000Z',
      period_end: '2026-05-31T00:00:00.000Z',
      current_cost_microdollars: 7_500_000,
      current_cost_usd: '7.500000',
      optimized_cost_microdollars: 500_000,
      optimized_cost_usd: '0.500000',
      savings_microdollars: 7_000_000,
      savings_usd: '7.000000',
      recommendation_text: 'Do so.',
      dismissed: false,
      created_at: '2026-05-31T02:00:00.000Z',
    });
  });

  it('are dismissed by their own tenant only, once or twice alike, and that is on record', async () => {
    const tenant = await gw.signUp();
    const other = await gw.signUp();
    const id = await plant(tenant.tenantId, 'gpt-5', '', 2_000_000);
    for (const [token, which] of [
      [other.token, id],
      [tenant.token, 'nonsense'],
      [tenant.token, tenant.tenantId],
    ] as const) {
      const refused = await dismiss(token, which);
      expect([refused.status, refused.json.error]).toEqual([404, 'not_found']);
    }
    expect((await dismiss(tenant.token, id)).json).toMatchObject({ id, dismissed: true });
    expect((await dismiss(tenant.token, id)).status).toBe(200);
    expect(await list(tenant.token)).toEqual([]);
    expect(await list(tenant.token, '?include_dismissed=true')).toMatchObject([{ id, dismissed: true }]);
    const audit = await gw.sql(
      "select details from audit_entries where tenant_id = $1 and action = 'savings.dismissed'",
      [tenant.tenantId],
    );
    expect(audit[0]!.details).toEqual({
      finding_type: 'duplicate_prompts',
      model_id: 'gpt-5',
      service_name: null,
    });
  });

  it('need a token, and a query that can be read', async () => {
    expect((await gw.call('GET', '/v1/savings')).status).toBe(401);
    const { token } = await gw.signUp();
    const answer = await gw.call('GET', '/v1/savings?include_dismissed=maybe', { token });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
  });
});
