import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PERIODS, type Period, periodOf } from './period.ts';

function bounds(period: Period, at: string): [string, string] {
  const { startMs, endMs } = periodOf(period, Date.parse(at));
  return [new Date(startMs).toISOString().slice(0, 10), new Date(endMs).toISOString().slice(0, 10)];
}

describe('periodOf', () => {
  it.each<[Period, string, string, string]>([
    ['day', '2026-11-15T00:00:00.000Z', '2026-11-15', '2026-11-16'],
    ['day', '2026-11-15T23:59:59.999Z', '2026-11-15', '2026-11-16'],
    ['day', '2028-02-29T12:00:00Z', '2028-02-29', '2028-03-01'],
    ['week', '2026-11-15T23:59:59.999Z', '2026-11-09', '2026-11-16'],
    ['week', '2026-11-16T00:00:00.000Z', '2026-11-16', '2026-11-23'],
    ['week', '2027-01-01T00:00:00Z', '2026-12-28', '2027-01-04'],
    ['week', '2024-12-31T12:00:00Z', '2024-12-30', '2025-01-06'],
    ['week', '2023-01-01T12:00:00Z', '2022-12-26', '2023-01-02'],
    ['week', '1970-01-01T00:00:00Z', '1969-12-29', '1970-01-05'],
    ['month', '2026-01-31T23:59:59.999Z', '2026-01-01', '2026-02-01'],
    ['month', '2026-02-28T23:59:59.999Z', '2026-02-01', '2026-03-01'],
    ['month', '2028-02-29T23:59:59.999Z', '2028-02-01', '2028-03-01'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
    ['month', '2026-03-29T01:30:00Z', '2026-03-01', '2026-04-01'],
  ])('the %s of %s is %s to %s', (period, at, start, end) => {
    expect(bounds(period, at)).toEqual([start, end]);
  });

  it('puts every instant into exactly one period, and periods end to end', () => {
    const instants = fc.integer({ min: Date.UTC(1960, 0, 1), max: Date.UTC(2200, 0, 1) });
    fc.assert(
      fc.property(fc.constantFrom(...PERIODS), instants, (period, at) => {
        const { startMs, endMs } = periodOf(period, at);
        expect(startMs).toBeLessThanOrEqual(at);
        expect(at).toBeLessThan(endMs);
        expect(periodOf(period, startMs)).toEqual({ startMs, endMs });
        expect(periodOf(period, endMs - 1)).toEqual({ startMs, endMs });
        expect(periodOf(period, endMs).startMs).toBe(endMs);
        expect(periodOf(period, startMs - 1).endMs).toBe(startMs);
        if (period === 'week') expect(new Date(startMs).getUTCDay()).toBe(1);
      }),
    );
  });
});
