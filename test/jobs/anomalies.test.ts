import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/server/adapters/log.ts';
import { detectAnomalies } from '../../src/server/jobs/anomalies.ts';
import type { JobParts } from '../../src/server/jobs/task.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

const NOW = '2026-03-20T10:35:00.000Z';
const HOUR = '2026-03-20T10';
const LAST_HOUR = '2026-03-20T09';
const USD = 1_000_000;

let gw: Gateway;
let database: Database;
let tenant: SignedUp;

beforeAll(async () => {
  gw = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 2, onIdleError: () => {} });
});
beforeEach(async () => {
  tenant = await gw.signUp();
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});

const run = (now = NOW) => {
  const parts = { database, log: createLogger('silent'), nowMs: () => Date.parse(now) };
  return detectAnomalies(parts as unknown as JobParts)({});
};

const spend = (dollars: number, hour: string, fields: Record<string, unknown> = {}) => ({
  created_at: `${hour}:15:00.000Z`,
  cost_microdollars: dollars * USD,
  ...fields,
});

/** The same hour of so many days before. */
function daysBefore(count: number, hour = 10): string[] {
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(Date.parse('2026-03-20T00:00:00Z') - (index + 1) * 86_400_000);
    return `${day.toISOString().slice(0, 10)}T${String(hour).padStart(2, '0')}`;
  });
}

async function alerts() {
  const { json } = await gw.call('GET', '/v1/alerts', { token: tenant.token });
  return json.data as Array<{ severity: string; title: string; metadata: Record<string, unknown> }>;
}

describe('the anomaly check', () => {
  it('raises one alert for an hour far beyond its usual, with the figures, however often it looks', async () => {
    await recordRequests(gw, tenant.tenantId, [
      ...daysBefore(14).map((hour, index) => spend(2 + (index % 3), hour)),
      spend(45, HOUR, { service_name: 'runaway' }),
    ]);
    await run();
    await run();
    await recordRequests(gw, tenant.tenantId, [spend(5, HOUR)]);
    await run('2026-03-20T10:40:00.000Z');
    const raised = await alerts();
    expect(raised).toHaveLength(1);
    expect(raised[0]).toMatchObject({
      alert_type: 'cost_anomaly',
      severity: 'critical',
      title: 'Unusual spend of your account: $45.00 in one hour, $3.00 is usual',
      metadata: {
        dimension_type: 'tenant_total',
        hour_start: '2026-03-20T10:00:00.000Z',
        spend_microdollars: 45 * USD,
        median_microdollars: 3 * USD,
        deviation_microdollars: 1 * USD,
        history_days: 14,
      },
    });
  });

  it('compares with the same hour of the day only', async () => {
    await recordRequests(gw, tenant.tenantId, [
      ...daysBefore(14, 9).map((hour) => spend(50, hour)),
      ...daysBefore(14, 10).map((hour) => spend(1, hour)),
      spend(50, LAST_HOUR),
      spend(20, HOUR),
    ]);
    await run();
    expect((await alerts()).map(({ metadata }) => metadata.hour_start)).toEqual(['2026-03-20T10:00:00.000Z']);
  });

  it('looks at the last full hour too, which may have gone wrong after the last look', async () => {
    await recordRequests(gw, tenant.tenantId, [
      ...daysBefore(14, 9).map((hour) => spend(1, hour)),
      spend(30, LAST_HOUR),
    ]);
    await run('2026-03-20T10:02:00.000Z');
    expect((await alerts()).map(({ metadata }) => metadata.hour_start)).toEqual(['2026-03-20T09:00:00.000Z']);
  });

  it('names the team when the account as a whole is as ever', async () => {
    const { json: team } = await gw.call('POST', '/v1/teams', {
      token: tenant.token,
      body: { name: 'Search' },
    });
    const ofTeam = { team_id: team.id, team_slug: team.slug };
    await recordRequests(gw, tenant.tenantId, [
      ...daysBefore(14).flatMap((hour) => [spend(200, hour), spend(1, hour, ofTeam)]),
      spend(190, HOUR),
      spend(20, HOUR, ofTeam),
    ]);
    await run();
    expect(await alerts()).toMatchObject([
      {
        title: 'Unusual spend of team Search: $20.00 in one hour, $1.00 is usual',
        metadata: { dimension_type: 'team', dimension_value: 'Search', team_id: team.id },
      },
    ]);
  });

  it('is silent about new accounts, small sums, and hours as ever', async () => {
    const [fresh, small, usual] = [tenant, await gw.signUp(), await gw.signUp()];
    await recordRequests(gw, fresh.tenantId, [
      ...daysBefore(4).map((hour) => spend(1, hour)),
      spend(500, HOUR),
    ]);
    await recordRequests(gw, small.tenantId, [
      ...daysBefore(14).map((hour) => spend(0, hour)),
      spend(0.99, HOUR),
    ]);
    await recordRequests(gw, usual.tenantId, [
      ...daysBefore(14).map((hour) => spend(10, hour)),
      spend(11, HOUR),
    ]);
    await run();
    for (const one of [fresh, small, usual]) {
      tenant = one;
      expect(await alerts()).toEqual([]);
    }
  });

  it('finds an hour in which nothing was ever spent before', async () => {
    await recordRequests(gw, tenant.tenantId, [
      ...daysBefore(8, 15).map((hour) => spend(3, hour)),
      spend(2, HOUR),
    ]);
    await run();
    expect(await alerts()).toMatchObject([{ metadata: { median_microdollars: 0, history_days: 8 } }]);
  });
});
