import { InvalidArgumentError } from 'commander';
import { parseUsd } from '../contract/money.ts';
import { Stop } from './exit.ts';

const DAY_MS = 86_400_000;
const SPAN_UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
const MAX_SPAN_MS = 3_650 * DAY_MS;

/** Texts of the command line into values; what cannot be one is refused in the words of the flag. */

export function readDay(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes the 31st of February for the 3rd of March.
  if (Number.isNaN(time) || dayOf(time) !== text)
    throw new InvalidArgumentError('It must be a day like 2026-01-31.');
  return text;
}

export function readMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('It must be a month like 2026-01.');
  return text;
}

/** A span like 12h, 30d or 4w, in milliseconds. */
export function readSpan(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,5})([hdw])$/.exec(text) ?? [];
  const ms = Number(amount) * (SPAN_UNITS_MS[unit ?? ''] ?? Number.NaN);
  if (!(ms <= MAX_SPAN_MS)) throw new InvalidArgumentError('It must be a span like 12h, 30d or 4w.');
  return ms;
}

/** A range that ends before it begins would be answered with nothing, as if nothing had happened. */
export function refuseBackwards(from: string | undefined, to: string | undefined, help: string): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new Stop('usage', `The first day, ${from}, lies after the last, ${to}.`, help);
}

/** The first day of a span that ends now. */
export function firstDayOf(spanMs: number, nowMs: number): string {
  return dayOf(nowMs - spanMs);
}

/** Dollars of 0 or more, in microdollars. */
export function readMicrodollars(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? parseUsd(Number(text)) : null;
  if (value === null) {
    throw new InvalidArgumentError('It must be an amount in US dollars with up to six decimals, like 12.50.');
  }
  return value;
}

/** Dollars above 0, as the API takes them. */
export function readPositiveUsd(text: string): number {
  if (readMicrodollars(text) === 0) throw new InvalidArgumentError('It must be more than 0.');
  return Number(text);
}

export function readWholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

export function readList(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 0) throw new InvalidArgumentError('It must be one or more names separated by commas.');
  return items;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
