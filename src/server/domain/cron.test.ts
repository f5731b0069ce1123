import { parseCronItem, type TimestampDigest } from 'graphile-worker';
import { describe, expect, it } from 'vitest';
import { nextCronMs } from './cron.ts';

const at = (text: string) => Date.parse(text);
const next = (line: string, after: string) => {
  const ms = nextCronMs(line, at(after));
  return ms === null ? null : new Date(ms).toISOString();
};

describe('the next time of a cron line', () => {
  it.each([
    ['* * * * *', '2026-11-15T03:16:31Z', '2026-11-15T03:17:00.000Z'],
    ['*/10 * * * *', '2026-11-15T03:50:00Z', '2026-11-15T04:00:00.000Z'],
    ['0 3 * * *', '2026-11-15T03:00:00Z', '2026-11-16T03:00:00.000Z'],
    ['0 3 * * *', '2026-11-15T02:59:59Z', '2026-11-15T03:00:00.000Z'],
    ['30 0 * * *', '2026-12-31T23:59:00Z', '2027-01-01T00:30:00.000Z'],
    ['0 8 * * 1', '2026-11-15T09:00:00Z', '2026-11-16T08:00:00.000Z'],
    ['0 8 * * 7', '2026-11-15T09:00:00Z', '2026-11-22T08:00:00.000Z'],
    ['0 0 29 2 *', '2026-11-15T09:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['15,45 1-2 * * *', '2026-11-15T01:46:00Z', '2026-11-15T02:15:00.000Z'],
  ])('%s after %s is %s', (line, after, expected) => {
    expect(next(line, after)).toBe(expected);
  });

  it('is none for a line that is not cron, or a day that never comes', () => {
    expect(next('every day', '2026-11-15T09:00:00Z')).toBeNull();
    expect(next('61 * * * *', '2026-11-15T09:00:00Z')).toBeNull();
    expect(next('0 0 31 2 *', '2026-11-15T09:00:00Z')).toBeNull();
  });

  it('is the time at which the queue fires', () => {
    for (const line of ['*/7 * * * *', '0 3 * * *', '5 4 1 * *', '0 8 * * 1', '30 2 15 6 *']) {
      const item = parseCronItem({ task: 't', match: line });
      const ms = nextCronMs(line, at('2026-11-15T03:16:31Z'))!;
      const date = new Date(ms);
      expect(
        (item.match as (digest: TimestampDigest) => boolean)({
          min: date.getUTCMinutes(),
          hour: date.getUTCHours(),
          date: date.getUTCDate(),
          month: date.getUTCMonth() + 1,
          dow: date.getUTCDay(),
        }),
      ).toBe(true);
    }
  });
});
