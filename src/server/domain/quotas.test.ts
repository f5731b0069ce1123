import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../contract/errors.ts';
import { PERIODS, periodOf } from './period.ts';
import {
  forecast,
  type Quota,
  quotaAlert,
  readQuotaDimension,
  readThresholds,
  thresholdsToTell,
} from './quotas.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JUNE = Date.UTC(2026, 5, 1);
const month = (limitMicrodollars: number) => ({ period: 'month' as const, limitMicrodollars });
const quota: Quota = {
  id: 'q1',
  dimensionType: 'tenant_total',
  dimensionValue: '',
  period: 'month',
  limitMicrodollars: 1_000,
  alertThresholds: [50, 80, 100, 150],
};

describe('a forecast', () => {
  it('draws the spend of ten days on to the end of the month', () => {
    expect(forecast(month(4_000_000), 1_000_000, JUNE - DAY_MS, JUNE + 10 * DAY_MS)).toEqual({
      state: 'on_track',
      projectedMicrodollars: 3_000_000,
      projectedExhaustionAtMs: null,
      dailyRunRateMicrodollars: 100_000,
      windowMs: 10 * DAY_MS,
    });
  });

  it('names the instant at which the limit will be reached', () => {
    expect(forecast(month(1_500_000), 1_000_000, JUNE - DAY_MS, JUNE + 10 * DAY_MS)).toMatchObject({
      state: 'projected_exhaustion',
      projectedMicrodollars: 3_000_000,
      projectedExhaustionAtMs: JUNE + 15 * DAY_MS,
    });
  });

  it('is on track when the limit is reached with the last instant of the period', () => {
    expect(forecast(month(3_000_000), 1_000_000, JUNE - DAY_MS, JUNE + 10 * DAY_MS).state).toBe('on_track');
    expect(forecast(month(2_999_999), 1_000_000, JUNE - DAY_MS, JUNE + 10 * DAY_MS).state).toBe(
      'projected_exhaustion',
    );
  });

  it('begins with the first request when that came after the period began', () => {
    expect(forecast(month(9_000_000), 1_000_000, JUNE + 8 * DAY_MS, JUNE + 10 * DAY_MS)).toMatchObject({
      dailyRunRateMicrodollars: 500_000,
      projectedMicrodollars: 11_000_000,
      windowMs: 2 * DAY_MS,
      state: 'projected_exhaustion',
    });
  });

  it.each([
    ['month', DAY_MS],
    ['week', DAY_MS],
    ['day', HOUR_MS],
  ] as const)('of a %s needs %i ms of data', (period, needMs) => {
    const { startMs } = periodOf(period, JUNE + 20 * DAY_MS);
    const at = (elapsedMs: number) =>
      forecast({ period, limitMicrodollars: 1_000_000 }, 10, startMs - DAY_MS, startMs + elapsedMs);
    expect(at(needMs - 1)).toMatchObject({ state: 'insufficient_data', projectedMicrodollars: null });
    expect(at(needMs)).toMatchObject({ state: 'on_track' });
  });

  it('is over the limit from the moment nothing is left, however little is known', () => {
    const early = forecast(month(1_000), 1_000, JUNE, JUNE + HOUR_MS);
    expect(early).toMatchObject({ state: 'over_limit', projectedMicrodollars: null });
    const late = forecast(month(1_000), 2_000, JUNE, JUNE + 10 * DAY_MS);
    expect(late).toMatchObject({
      state: 'over_limit',
      projectedMicrodollars: 6_000,
      projectedExhaustionAtMs: null,
    });
  });

  it('has insufficient data where nothing was ever used, and is on track where nothing is used any more', () => {
    expect(forecast(month(1_000), 0, null, JUNE + 20 * DAY_MS).state).toBe('insufficient_data');
    expect(forecast(month(1_000), 0, JUNE - 90 * DAY_MS, JUNE + 20 * DAY_MS)).toMatchObject({
      state: 'on_track',
      projectedMicrodollars: 0,
      dailyRunRateMicrodollars: 0,
    });
  });

  it('never names an exhaustion outside the rest of the period, and never a figure that is no integer', () => {
    const money = fc.integer({ min: 0, max: 10 ** 15 });
    fc.assert(
      fc.property(
        fc.constantFrom(...PERIODS),
        money,
        money,
        fc.integer({ min: 0, max: 4_000_000_000_000 }),
        fc.integer({ min: 0, max: 400 * DAY_MS }),
        (period, limit, spend, nowMs, ageMs) => {
          const line = forecast({ period, limitMicrodollars: limit + 1 }, spend, nowMs - ageMs, nowMs);
          const { endMs } = periodOf(period, nowMs);
          const at = line.projectedExhaustionAtMs;
          expect(at !== null).toBe(line.state === 'projected_exhaustion');
          if (at !== null) expect(at >= nowMs && at < endMs).toBe(true);
          for (const figure of [line.projectedMicrodollars, line.dailyRunRateMicrodollars])
            expect(figure === null || (Number.isSafeInteger(figure) && figure >= 0)).toBe(true);
          if (line.projectedMicrodollars !== null)
            expect(line.projectedMicrodollars).toBeGreaterThanOrEqual(spend);
        },
      ),
    );
  });
});

describe('the thresholds of a quota', () => {
  const told = (threshold: number, periodStartMs = JUNE) => ({ periodStartMs, threshold });

  it.each([
    ['all that were passed since the last look', told(0), 850, [50, 80]],
    ['none twice', told(80), 999, []],
    ['those above the last told', told(80), 1_600, [100, 150]],
    ['all again in a new period', told(150, JUNE - DAY_MS), 1_000, [50, 80, 100]],
    ['only the highest when nobody looked before', null, 1_200, [100]],
    ['none when nobody looked before and none is passed', null, 499, []],
  ])('tell %s', (_, before, spend, percents) => {
    expect(thresholdsToTell(quota, before, JUNE, spend)).toEqual(percents);
  });

  it('are sorted, unique, and 50, 80, 100 when not given', () => {
    expect(readThresholds([100, 5, 100, 1_000])).toEqual([5, 100, 1_000]);
    expect(readThresholds([])).toEqual([]);
    expect(readThresholds(undefined)).toEqual([50, 80, 100]);
  });

  it('make one alert each per quota and period', () => {
    const alert = quotaAlert(
      { ...quota, dimensionType: 'end_customer', dimensionValue: 'acme', limitMicrodollars: 2_000_000 },
      150,
      { periodStartMs: JUNE, spendMicrodollars: 3_100_000 },
      null,
    );
    expect(alert).toMatchObject({
      type: 'budget_threshold',
      severity: 'critical',
      title: '150% of the spend quota for end customer acme is used: $3.10 of $2.00 this month',
      cause: 'quota:q1:2026-06-01T00:00:00.000Z:150',
      metadata: { quota_id: 'q1', threshold: 1.5, spend_usd: '3.100000', limit_usd: '2.000000' },
    });
  });
});

describe('the dimension of a quota', () => {
  it('needs a value, except for the whole account, which must have none', () => {
    expect(readQuotaDimension('model', ' gpt-5 ')).toBe('gpt-5');
    expect(readQuotaDimension('tenant_total', '')).toBe('');
    expect(readQuotaDimension('tenant_total', undefined)).toBe('');
    expect(isRefusal(readQuotaDimension('tenant_total', 'x'))).toBe(true);
    expect(isRefusal(readQuotaDimension('team', ' '))).toBe(true);
    expect(isRefusal(readQuotaDimension('service', null))).toBe(true);
  });
});
