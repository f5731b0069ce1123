import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWanted, showTailed, startOfTail, type TailedRequest } from './tail.ts';

const REQUEST: TailedRequest = {
  id: '018f0000-0000-7000-8000-000000000001',
  created_at: '2026-03-04T05:06:07.000Z',
  provider: 'prov_a',
  model_requested: 'gpt-5',
  model_id: 'gpt-5-2025-08-07',
  tokens_input: 10,
  tokens_output: 20,
  cost_microdollars: 4_200,
  latency_total_ms: 300,
  status_code: 200,
  environment: 'production',
  team_id: '018f0000-0000-7000-8000-0000000000aa',
  team_name: 'Data Science',
  team_slug: 'data-science',
  service_name: 'search',
  user_name: null,
  end_customer: null,
  agent: null,
};
const tailed = (fields: Partial<TailedRequest> = {}) => ({
  kind: 'request' as const,
  request: { ...REQUEST, ...fields },
});

describe('a filter', () => {
  it.each([
    [{}, true],
    [{ team: 'Data Science' }, true],
    [{ team: 'data-science' }, true],
    [{ team: 'DATA-SCIENCE' }, true],
    [{ team: REQUEST.team_id! }, true],
    [{ team: 'data science' }, false],
    [{ team: '' }, false],
    [{ service: 'search' }, true],
    [{ service: 'Search' }, false],
    [{ model: 'gpt-5' }, true],
    [{ model: 'gpt-5-2025-08-07' }, true],
    [{ model: 'gpt' }, false],
    [{ minCostMicrodollars: 4_200 }, true],
    [{ minCostMicrodollars: 4_201 }, false],
    [{ team: 'data-science', service: 'search', model: 'gpt-5', minCostMicrodollars: 1 }, true],
    [{ team: 'data-science', service: 'other' }, false],
  ])('of %j is met: %s', (filter, expected) => {
    expect(isWanted(filter, tailed())).toBe(expected);
  });

  it('finds nothing in a request without that dimension', () => {
    const bare = tailed({
      team_id: null,
      team_name: null,
      team_slug: null,
      service_name: null,
      model_id: null,
    });
    for (const filter of [{ team: 'null' }, { service: 'null' }, { model: 'null' }]) {
      expect(isWanted(filter, bare)).toBe(false);
    }
  });

  it('lets every alert through', () => {
    const event = { id: 'e', type: 'alert.cost_anomaly', created_at: REQUEST.created_at, data: {} };
    const alert = { kind: 'alert' as const, event };
    expect(isWanted({ team: 'nobody', minCostMicrodollars: 10 }, alert)).toBe(true);
  });
});

describe('what readers are shown', () => {
  it('is the alert itself, and a kill switch as an alert of its own type', () => {
    const show = (type: string, data: Record<string, unknown>) =>
      showTailed({ kind: 'alert', event: { id: 'e', type, created_at: REQUEST.created_at, data } });
    const alert = { id: 'a', alert_type: 'cost_anomaly', title: 't', metadata: { type: 'x' } };
    expect(show('alert.cost_anomaly', alert)).toEqual({ type: 'alert', ...alert });
    const kill = { id: 'k', scope_type: 'all', scope_value: '*' };
    expect(show('alert.kill_switch', kill)).toEqual({
      type: 'alert',
      id: 'e',
      alert_type: 'kill_switch',
      severity: 'critical',
      title: 'Kill switch on: all traffic',
      acknowledged: false,
      created_at: REQUEST.created_at,
      metadata: kill,
    });
  });
});

describe('where a reader begins', () => {
  it.each([
    [null, 50, { after: 50, missed: 0 }],
    ['50', 50, { after: 50, missed: 0 }],
    ['20', 50, { after: 20, missed: 0 }],
    ['0', 50, { after: 0, missed: 0 }],
    ['51', 50, { after: 50, missed: 0 }],
    ['1e1', 50, { after: 50, missed: 0 }],
    ['0', 1_500, { after: 500, missed: 500 }],
    ['499', 1_500, { after: 500, missed: 1 }],
    ['500', 1_500, { after: 500, missed: 0 }],
  ])('after %s, with %i events there, is %j', (lastEventId, head, expected) => {
    expect(startOfTail(lastEventId, head, 1_000)).toEqual(expected);
  });

  it('is never past the end or too far back, whatever is asked for', () => {
    fc.assert(
      fc.property(fc.option(fc.string()), fc.nat(), fc.nat(5_000), (lastEventId, head, resumeEvents) => {
        const { after, missed } = startOfTail(lastEventId, head, resumeEvents);
        expect(after).toBeLessThanOrEqual(head);
        expect(head - after).toBeLessThanOrEqual(resumeEvents);
        expect(missed).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
