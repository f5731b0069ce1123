import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anomalyAlert, findAnomaly, type HourlySpend, judgeSpend, median } from './anomalies.ts';

const USD = 1_000_000;
const spend = (dollars: number, history: readonly number[], of: Partial<HourlySpend> = {}): HourlySpend => ({
  dimension: 'tenant_total',
  value: '',
  spendMicrodollars: Math.round(dollars * USD),
  historyMicrodollars: history.map((value) => Math.round(value * USD)),
  ...of,
});
const steady = (dollars: number, days = 14) => Array<number>(days).fill(dollars);

describe('an hour’s spend', () => {
  it.each([
    ['as ever', 5, steady(5), false],
    ['a little above a steady one', 6.9, steady(5), false],
    ['half as much again as a steady one', 7.5, steady(5), true],
    ['less than ever', 0, steady(5), false],
    ['under a dollar beyond nothing', 0.99, steady(0), false],
    ['a dollar beyond nothing', 1, steady(0), true],
    ['within the usual swing', 12, [2, 9, 4, 11, 3, 8, 12, 1, 10, 5, 7, 2, 9, 6], false],
    ['far beyond the usual swing', 40, [2, 9, 4, 11, 3, 8, 12, 1, 10, 5, 7, 2, 9, 6], true],
    ['of an account four days old', 500, steady(1, 4), false],
    ['of an account five days old', 500, steady(1, 5), true],
  ])('%s ($%d) is told: %s', (_what, dollars, history, expected) => {
    expect(judgeSpend(spend(dollars, history)) !== null).toBe(expected);
  });

  it('is not hidden by one runaway among the days before', () => {
    expect(judgeSpend(spend(20, [...steady(5, 13), 400]))).not.toBeNull();
  });

  it('is judged with figures that explain it', () => {
    expect(judgeSpend(spend(20, [1, 2, 3, 4, 5, 6, 7]))).toMatchObject({
      medianMicrodollars: 4 * USD,
      madMicrodollars: 2 * USD,
      thresholdMicrodollars: 4 * USD + Math.round(5 * 1.4826 * 2 * USD),
      score: 5.4,
    });
  });

  it('that is told stays told when it grows', () => {
    const history = fc.array(fc.nat(50_000_000), { minLength: 5, maxLength: 14 });
    fc.assert(
      fc.property(history, fc.nat(500_000_000), fc.nat(500_000_000), (days, dollars, more) => {
        const judged = (microdollars: number) =>
          judgeSpend({
            dimension: 'model',
            value: 'm',
            spendMicrodollars: microdollars,
            historyMicrodollars: days,
          });
        if (judged(dollars)) expect(judged(dollars + more)).not.toBeNull();
        if (dollars < Math.max(...days)) return;
        if (judged(dollars)) expect(dollars - median(days)).toBeGreaterThanOrEqual(USD - 1);
      }),
    );
  });
});

describe('one hour', () => {
  const team = { dimension: 'team' as const, value: 'team-id' };
  const model = { dimension: 'model' as const, value: 'gpt-5' };

  it('is one anomaly: the tenant’s, with the parts behind it', () => {
    const found = findAnomaly([
      spend(30, steady(1), model),
      spend(50, steady(10)),
      spend(40, steady(5), team),
      spend(5, steady(5), { dimension: 'service', value: 'calm' }),
    ]);
    expect(found?.anomaly.dimension).toBe('tenant_total');
    expect(found?.drivers.map(({ value }) => value)).toEqual(['team-id', 'gpt-5']);
  });

  it('is the anomaly of a part when the whole is as ever', () => {
    const found = findAnomaly([
      spend(100, steady(100)),
      spend(20, steady(0), team),
      spend(9, steady(0), model),
    ]);
    expect(found?.anomaly).toMatchObject(team);
    expect(found?.drivers).toHaveLength(1);
  });

  it('is none when nothing is unusual', () => {
    expect(findAnomaly([spend(1, steady(1)), spend(1, steady(1), team)])).toBeNull();
  });
});

describe('the alert', () => {
  const hourMs = Date.parse('2026-03-04T05:00:00Z');
  const alertOf = (series: HourlySpend) =>
    anomalyAlert(findAnomaly([series])!, hourMs, new Map([['team-id', 'Search']]));

  it('says whose spend is unusual, by how much, in which hour, and has the figures', () => {
    const alert = alertOf(spend(7.5, steady(2), { dimension: 'team', value: 'team-id' }));
    expect(alert).toMatchObject({
      type: 'cost_anomaly',
      severity: 'warning',
      title: 'Unusual spend of team Search: $7.50 in one hour, $2.00 is usual',
      cause: 'anomaly:team:team-id:2026-03-04T05:00:00.000Z',
      metadata: {
        dimension_type: 'team',
        dimension_value: 'Search',
        team_id: 'team-id',
        hour_start: '2026-03-04T05:00:00.000Z',
        spend_microdollars: 7_500_000,
        spend_usd: '7.500000',
        median_microdollars: 2_000_000,
        history_days: 14,
        drivers: [],
      },
    });
  });

  it.each([
    [9.99, 0, 'warning'],
    [10, 0, 'critical'],
    [49, 5, 'warning'],
    [50, 5, 'critical'],
  ])('for $%d where $%d is usual is of the severity %s', (dollars, usual, severity) => {
    expect(alertOf(spend(dollars, steady(usual))).severity).toBe(severity);
  });
});
