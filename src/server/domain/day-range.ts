import { type Refusal, refuse } from '../../contract/errors.ts';

/** Whole UTC days (YYYY-MM-DD), both inclusive; `from` after `to` is a range without days. */
export interface DayRange {
  from: string;
  to: string;
}

const DAY_MS = 86_400_000;
/** Nothing of ours is older than the epoch, and time-ordered ids cannot say an earlier instant. */
const FIRST_DAY = '1970-01-01';
const LAST_DAY = '9999-12-31';

type DayRangeInput = { from?: string | undefined; to?: string | undefined };

/** The range as asked for; an end that is not named is open. */
export function readDayRange(input: DayRangeInput): DayRange | Refusal {
  for (const name of ['from', 'to'] as const) {
    const day = input[name];
    if (day !== undefined && !isDay(day)) {
      return refuse('invalid_field', `The field "${name}" is not valid: there is no such day as ${day}.`);
    }
  }
  const { from = FIRST_DAY, to = LAST_DAY } = input;
  return { from: from < FIRST_DAY ? FIRST_DAY : from, to };
}

/** The same for reports that need both ends: until today, and so many days when no start is named. */
export function readRecentDayRange(input: DayRangeInput, nowMs: number, days: number): DayRange | Refusal {
  const range = readDayRange(input);
  if ('kind' in range) return range;
  const to = input.to ?? dayOf(nowMs);
  const from = input.from === undefined ? dayOf(Math.max(startOf(to) - (days - 1) * DAY_MS, 0)) : range.from;
  return { from, to };
}

export function daysIn(range: DayRange): number {
  return Math.max(0, (startOf(range.to) - startOf(range.from)) / DAY_MS + 1);
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** Date.parse takes 2026-02-31 for the third of March, so the day must come back as it went in. */
function isDay(text: string): boolean {
  const atMs = startOf(text);
  return !Number.isNaN(atMs) && dayOf(atMs) === text;
}
