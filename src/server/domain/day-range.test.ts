import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { daysIn, readDayRange, readRecentDayRange } from './day-range.ts';

const NOW = Date.parse('2024-03-01T23:59:59.999Z');

describe('readDayRange', () => {
  test('leaves an end that is not named open', () => {
    expect(readDayRange({})).toEqual({ from: '1970-01-01', to: '9999-12-31' });
    expect(readDayRange({ from: '2026-01-02' })).toEqual({ from: '2026-01-02', to: '9999-12-31' });
  });

  test('begins no earlier than time-ordered ids can say', () => {
    expect(readDayRange({ from: '0001-01-01', to: '2026-01-01' })).toEqual({
      from: '1970-01-01',
      to: '2026-01-01',
    });
  });

  test.each(['2026-02-29', '2026-00-10', '2026-04-31', 'x', '', '2026-1-1', '+02026-01-01'])(
    'refuses %j and names the field',
    (day) => {
      expect(readDayRange({ to: day })).toMatchObject({ cause: 'invalid_field', status: 400 });
      const { body } = readDayRange({ from: day }) as { body: { message: string } };
      expect(body.message).toContain('"from"');
    },
  );

  test('takes every real day', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (date) => {
          const day = date.toISOString().slice(0, 10);
          expect(readDayRange({ from: day, to: day })).toEqual({ from: day, to: day });
        },
      ),
    );
  });
});

describe('readRecentDayRange', () => {
  test('is so many days, today included', () => {
    expect(readRecentDayRange({}, NOW, 30)).toEqual({ from: '2024-02-01', to: '2024-03-01' });
    expect(readRecentDayRange({}, NOW, 1)).toEqual({ from: '2024-03-01', to: '2024-03-01' });
  });

  test('ends today with from alone, and begins so many days before with to alone', () => {
    expect(readRecentDayRange({ from: '2020-05-05' }, NOW, 30)).toEqual({
      from: '2020-05-05',
      to: '2024-03-01',
    });
    expect(readRecentDayRange({ to: '2020-03-01' }, NOW, 2)).toEqual({
      from: '2020-02-29',
      to: '2020-03-01',
    });
    expect(readRecentDayRange({ to: '0001-01-01' }, NOW, 30)).toEqual({
      from: '1970-01-01',
      to: '0001-01-01',
    });
  });

  test('refuses what is no day', () => {
    expect(readRecentDayRange({ from: '2026-02-31' }, NOW, 30)).toMatchObject({ cause: 'invalid_field' });
  });
});

test('daysIn counts both ends, and nothing when they are turned round', () => {
  expect(daysIn({ from: '2024-02-28', to: '2024-03-01' })).toBe(3);
  expect(daysIn({ from: '2024-03-01', to: '2024-03-01' })).toBe(1);
  expect(daysIn({ from: '2024-03-02', to: '2024-03-01' })).toBe(0);
});
