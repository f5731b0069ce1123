import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../contract/errors.ts';
import {
  type BudgetScope,
  budgetAlert,
  budgetMatches,
  crossedThresholds,
  effectiveLimit,
  highestThreshold,
  readBudgetScope,
  shortUsd,
} from './budgets.ts';

const scope = (given: Partial<BudgetScope> & Pick<BudgetScope, 'scopeType'>): BudgetScope => ({
  scopeId: null,
  agentName: null,
  ...given,
});
const nobody = { teamId: null, service: null, agent: null };

describe('a budget', () => {
  it('of the organization counts every request', () => {
    expect(budgetMatches(scope({ scopeType: 'organization' }), nobody)).toBe(true);
  });

  it.each([
    [scope({ scopeType: 'team', scopeId: 't1' }), { ...nobody, teamId: 't1' }, true],
    [scope({ scopeType: 'team', scopeId: 't1' }), { ...nobody, teamId: 't2' }, false],
    [scope({ scopeType: 'team', scopeId: 't1' }), { ...nobody, service: 't1', agent: 't1' }, false],
    [scope({ scopeType: 'service', scopeId: 'chat' }), { ...nobody, service: 'chat' }, true],
    [scope({ scopeType: 'service', scopeId: 'chat' }), { ...nobody, service: 'Chat' }, false],
    [scope({ scopeType: 'service', scopeId: 'chat' }), nobody, false],
    [scope({ scopeType: 'agent', agentName: 'a' }), { ...nobody, agent: 'a' }, true],
    [scope({ scopeType: 'agent', agentName: 'a' }), { ...nobody, service: 'a' }, false],
    [scope({ scopeType: 'agent', agentName: 'a' }), nobody, false],
  ])('of %j counts a request of %j: %s', (budget, facts, counts) => {
    expect(budgetMatches(budget, facts)).toBe(counts);
  });

  it('has its amount and its grants for a limit', () => {
    expect(effectiveLimit(10, 0)).toBe(10);
    expect(effectiveLimit(10, 5)).toBe(15);
    expect(effectiveLimit(Number.MAX_SAFE_INTEGER, 5)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('the scope of a new budget', () => {
  it.each([
    [{ scope_type: 'organization' as const }, scope({ scopeType: 'organization' })],
    [{ scope_type: 'organization' as const, scope_id: ' ' }, scope({ scopeType: 'organization' })],
    [{ scope_type: 'team' as const, scope_id: ' t ' }, scope({ scopeType: 'team', scopeId: 't' })],
    [{ scope_type: 'service' as const, scope_id: 's' }, scope({ scopeType: 'service', scopeId: 's' })],
    [{ scope_type: 'agent' as const, agent_name: 'a' }, scope({ scopeType: 'agent', agentName: 'a' })],
  ])('%j is read as %j', (given, read) => {
    expect(readBudgetScope(given)).toEqual(read);
  });

  it.each([
    [{ scope_type: 'team' as const }, 'scope_value_required'],
    [{ scope_type: 'service' as const, scope_id: ' ' }, 'scope_value_required'],
    [{ scope_type: 'service' as const, scope_id: null, agent_name: 'a' }, 'scope_value_required'],
    [{ scope_type: 'agent' as const, scope_id: 'a' }, 'scope_value_required'],
    [{ scope_type: 'organization' as const, scope_id: 't' }, 'invalid_field'],
    [{ scope_type: 'organization' as const, agent_name: 'a' }, 'invalid_field'],
    [{ scope_type: 'agent' as const, agent_name: 'a', scope_id: 's' }, 'invalid_field'],
  ])('%j is refused with %s', (given, cause) => {
    const read = readBudgetScope(given);
    expect(isRefusal(read) && read.cause).toBe(cause);
  });
});

describe('the thresholds of a budget', () => {
  it.each([
    [0, 49, []],
    [0, 50, [0.5]],
    [49, 80, [0.5, 0.8]],
    [50, 80, [0.8]],
    [0, 100, [0.5, 0.8, 1]],
    [0, 5_000, [0.5, 0.8, 1]],
    [80, 99, []],
    [100, 200, []],
    [60, 40, []],
  ])('crossed from %i to %i of 100 are %j', (before, after, fractions) => {
    expect(crossedThresholds(before, after, 100).map(({ fraction }) => fraction)).toEqual(fractions);
  });

  it('are severer the higher they are', () => {
    const severities = crossedThresholds(0, 100, 100).map(({ severity }) => severity);
    expect(severities).toEqual(['info', 'warning', 'critical']);
  });

  it('are each crossed once on any way up', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 10 ** 15 }), { maxLength: 20 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 10 ** 15 }), (costs, limit) => {
        let spend = 0;
        const told: number[] = [];
        for (const cost of costs) {
          const next = Math.min(spend + cost, Number.MAX_SAFE_INTEGER);
          told.push(...crossedThresholds(spend, next, limit).map(({ fraction }) => fraction));
          spend = next;
        }
        expect(told).toEqual([...new Set(told)].sort());
        expect(told.at(-1) ?? null).toBe(highestThreshold(spend, limit)?.fraction ?? null);
      }),
    );
  });

  it('are exact where doubles are not', () => {
    const limit = 9_007_199_254_740_991;
    expect(highestThreshold(limit - 1, limit)?.fraction).toBe(0.8);
    expect(highestThreshold(limit, limit)?.fraction).toBe(1);
  });

  it('make one alert each per budget and period, which says where things stand', () => {
    const budget = {
      id: 'b1',
      period: 'month' as const,
      mode: 'hard' as const,
      ...scope({ scopeType: 'team', scopeId: 't1' }),
    };
    const standing = {
      periodStartMs: Date.UTC(2026, 6, 1),
      spendMicrodollars: 8_120_000,
      limitMicrodollars: 10_000_000,
    };
    const alert = budgetAlert(budget, highestThreshold(8_120_000, 10_000_000)!, standing, 'Research');
    expect(alert).toMatchObject({
      type: 'budget_threshold',
      severity: 'warning',
      title: '80% of the budget for team Research is spent: $8.12 of $10.00 this month',
      cause: 'budget:b1:2026-07-01T00:00:00.000Z:0.8',
      metadata: { budget_id: 'b1', threshold: 0.8, spend_usd: '8.120000', limit_usd: '10.000000' },
    });
  });
});

it.each([
  [0, '$0.00'],
  [1, '$0.000001'],
  [500_000, '$0.50'],
  [999_999, '$0.999999'],
  [1_239_999, '$1.23'],
  [10_000_000, '$10.00'],
])('%i microdollars read %s in a title', (microdollars, text) => {
  expect(shortUsd(microdollars)).toBe(text);
});
