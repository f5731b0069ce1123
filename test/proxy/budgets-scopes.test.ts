import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Budget, budgetMatches } from '../../src/server/domain/budgets.ts';
import { removeDirectories } from '../faults/carrying.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import {
  type Cap,
  insertBudgets,
  insertTenants,
  type KeeperNodes,
  reservedIn,
  someTeamId,
  startKeeperNodes,
} from './keeper-nodes.ts';

/** Each run is one tenant's life; many tenants live at once, on the same three nodes. */
const RUNS = 1_000;
const RUNS_AT_ONCE = 100;
const CLIENTS = 6;

let gateway: Gateway;
let rig: KeeperNodes;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
  rig = await startKeeperNodes(gateway, 3);
});
afterAll(async () => {
  await rig.stop();
  await gateway.stop();
  removeDirectories();
});

const call = fc.record({
  node: fc.nat(2),
  amount: fc.integer({ min: 1, max: 400 }),
  /** Of what was reserved, in percent. */
  costs: fc.nat(100),
  team: fc.boolean(),
  service: fc.boolean(),
  agent: fc.boolean(),
});
const life = fc.record({
  caps: fc.tuple(fc.integer({ min: 1, max: 3_000 }), fc.nat(2_000), fc.nat(2_000), fc.nat(2_000)),
  calls: fc.array(call, { minLength: 1, maxLength: 24 }),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

const TEAM = someTeamId();

/** A cap of nothing stands for no budget. */
function capsOf([organization, team, service, agent]: Life['caps']): Cap[] {
  const base = { scopeId: null, agentName: null, period: 'month' } as const;
  const caps: Cap[] = [
    { ...base, scopeType: 'organization', amountMicrodollars: organization },
    { ...base, scopeType: 'team', scopeId: TEAM, amountMicrodollars: team },
    { ...base, scopeType: 'service', scopeId: 'checkout', amountMicrodollars: service },
    { ...base, scopeType: 'agent', agentName: 'crawler', amountMicrodollars: agent },
  ];
  return caps.filter(({ amountMicrodollars }) => amountMicrodollars > 0);
}

async function live(tenantId: string, budgets: readonly Budget[], calls: Life['calls']): Promise<number> {
  let next = 0;
  let refused = 0;
  const client = async () => {
    while (next < calls.length) {
      const { node: n, amount, costs, team, service, agent } = calls[next++]!;
      const node = rig.nodes[n]!;
      const facts = {
        teamId: team ? TEAM : null,
        service: service ? 'checkout' : null,
        agent: agent ? 'crawler' : null,
      };
      const matching = budgets.filter((budget) => budgetMatches(budget, facts));
      const outcome = await node.keeper.reserve(tenantId, reservedIn(matching, Date.now()), amount);
      if (outcome.kind === 'short') {
        refused += 1;
        continue;
      }
      await node.finish(outcome, Math.floor((amount * costs) / 100), {
        tenant_id: tenantId,
        team_id: facts.teamId,
        service_name: facts.service,
        agent: facts.agent,
      });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return refused;
}

/** What every budget says was spent, beside what the ledger and the usage say of the same scope. */
const FIGURES = `
  select budget.id, budget.amount_microdollars::int as cap,
         coalesce((select committed_microdollars from budget_periods period where period.budget_id = budget.id), 0)::int as spent,
         coalesce((select sum(ledger.cost_microdollars)
            from requests join ledger_records ledger
              on ledger.tenant_id = requests.tenant_id and ledger.request_id = requests.id
           where requests.tenant_id = budget.tenant_id
             and case budget.scope_type when 'team' then requests.team_id::text = budget.scope_id
                                        when 'service' then requests.service_name = budget.scope_id
                                        when 'agent' then requests.agent = budget.agent_name
                                        else true end), 0)::int as ledger,
         case budget.scope_type
           when 'agent' then coalesce((select sum(cost_microdollars) from usage_daily_agents used
                               where used.tenant_id = budget.tenant_id and used.agent = budget.agent_name), 0)
           else coalesce((select sum(cost_microdollars) from usage_daily used
                  where used.tenant_id = budget.tenant_id
                    and case budget.scope_type when 'team' then used.team_id = budget.scope_id
                                               when 'service' then used.service_name = budget.scope_id
                                               else true end), 0) end::int as used,
         coalesce((select sum(amount_microdollars) from budget_leases lease where lease.budget_id = budget.id), 0)::int as leased
    from budgets budget where tenant_id = any ($1::uuid[])`;

interface Figures {
  id: string;
  cap: number;
  spent: number;
  ledger: number;
  used: number;
  leased: number;
}

test('with caps on four scopes at once none is ever passed, and budgets, ledger and usage agree to the microdollar', async () => {
  let refusals = 0;
  let calls = 0;
  await fc.assert(
    // By a seed of their own, so that a failure prints one number and not a hundred lives.
    fc.asyncProperty(fc.integer(), async (seed) => {
      const lives = fc.sample(life, { seed, numRuns: RUNS_AT_ONCE });
      const tenantIds = await insertTenants(gateway, lives.length);
      const wanted = lives.map(({ caps }, index) => ({ tenantId: tenantIds[index]!, caps: capsOf(caps) }));
      const budgets = await insertBudgets(gateway, wanted);
      const refused = await Promise.all(
        lives.map((each, index) => live(tenantIds[index]!, budgets[index]!, each.calls)),
      );
      refusals += refused.reduce((sum, count) => sum + count, 0);
      calls += lives.reduce((sum, each) => sum + each.calls.length, 0);
      const figures = await eventually(async () => {
        const found = await gateway.sql<Figures>(FIGURES, [tenantIds]);
        // Idle: everything is committed and nothing is kept back any more.
        expect(found.filter(({ leased, spent, ledger }) => leased !== 0 || spent !== ledger)).toEqual([]);
        return found;
      });
      expect(figures.filter(({ cap, spent }) => spent > cap)).toEqual([]);
      expect(figures.filter(({ spent, ledger, used }) => ledger !== spent || used !== spent)).toEqual([]);
    }),
    { numRuns: RUNS / RUNS_AT_ONCE, endOnFailure: true },
  );
  console.info(`${RUNS} lives, ${calls} calls, ${refusals} refused`);
}, 300_000);
