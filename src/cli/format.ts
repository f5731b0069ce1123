import { formatUsd } from '../contract/money.ts';

const CENT_MICRODOLLARS = 10_000;
const DOLLAR_MICRODOLLARS = 1_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Older than this, a date says more than a number of days. */
const MAX_AGE_DAYS = 30;
const PLAIN_COUNT = 10_000;

/** Dollars as people read them, with as many decimals as the smallest amount beside it needs. */
export function money(microdollars: number, decimals = decimalsFor([microdollars])): string {
  const step = 10n ** BigInt(6 - decimals);
  const exact = BigInt(microdollars);
  const half = (exact < 0n ? -step : step) / 2n;
  const rounded = ((exact + (step === 1n ? 0n : half)) / step) * step;
  const text = formatUsd(rounded < 0n ? -rounded : rounded);
  const [whole = '0', fraction = ''] = text.split('.');
  return `${rounded < 0n ? '-' : ''}$${groupedDigits(whole)}.${fraction.slice(0, decimals)}`;
}

/** One number of decimals for a whole column, so that its points stand under one another. */
export function decimalsFor(amounts: number[]): 2 | 4 | 6 {
  const smallest = Math.min(...amounts.map(Math.abs).filter((amount) => amount > 0));
  if (smallest < CENT_MICRODOLLARS) return 6;
  return smallest < DOLLAR_MICRODOLLARS && amounts.some((amount) => amount % CENT_MICRODOLLARS !== 0) ? 4 : 2;
}

/** The API's own decimal text as people read it; the exact text is in --json. */
export function dollars(usd: string): string {
  return money(microdollarsOf(usd));
}

/** Whatever lies beyond six decimals is cut off. */
export function microdollarsOf(usd: string): number {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd) ?? [];
  const exact = BigInt(whole + fraction.padEnd(6, '0').slice(0, 6));
  return Number(sign ? -exact : exact);
}

/** A price per million tokens. */
export function rate(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '-';
  const text = String(usd);
  const decimals = text.split('.')[1]?.length ?? 0;
  return `$${decimals < 2 ? usd.toFixed(2) : text}`;
}

/** Thousands apart. Node's own way loads tables of all languages first, which is felt at every start. */
export function grouped(value: number): string {
  return groupedDigits(String(value));
}

function groupedDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

export function count(value: number): string {
  if (value < PLAIN_COUNT) return grouped(value);
  for (const [unit, size] of [
    ['B', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    // 999,950 would be shown as 1000.0k.
    if (value >= size * 0.99995) return `${(value / size).toFixed(1)}${unit}`;
  }
  return String(value);
}

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.05) return '<0.1%';
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)}%`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / MINUTE_MS)}m ${Math.round((ms % MINUTE_MS) / 1_000)}s`;
}

/** How long ago something was, or when it was if that is long past. */
export function age(timestamp: string | null, nowMs: number): string {
  if (timestamp === null) return '-';
  const ms = nowMs - Date.parse(timestamp);
  // Clocks differ a little; nothing here lies in the future.
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m ago`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)}h ago`;
  if (ms < MAX_AGE_DAYS * DAY_MS) return `${Math.floor(ms / DAY_MS)}d ago`;
  return day(timestamp);
}

/** How long until something is. */
export function until(timestamp: string | null, nowMs: number): string {
  if (timestamp === null) return '-';
  const ms = Date.parse(timestamp) - nowMs;
  if (ms <= 0) return 'now';
  if (ms < HOUR_MS) return `in ${Math.max(1, Math.floor(ms / MINUTE_MS))}m`;
  if (ms < 2 * DAY_MS) return `in ${Math.floor(ms / HOUR_MS)}h`;
  if (ms < MAX_AGE_DAYS * DAY_MS) return `in ${Math.floor(ms / DAY_MS)}d`;
  return `on ${day(timestamp)}`;
}

export function day(timestamp: string): string {
  return timestamp.slice(0, 10);
}

/** To the second, UTC. */
export function moment(timestamp: string): string {
  return `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)}`;
}

export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  if (size < 1e6) return `${(size / 1e3).toFixed(1)} kB`;
  return `${(size / 1e6).toFixed(1)} MB`;
}
