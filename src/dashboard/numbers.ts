import { formatUsd } from '../contract/money.ts';

const MICRODOLLARS_PER_USD = 1_000_000;
const COUNT = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const DOLLARS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const WHOLE_DOLLARS = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 0,
});
const SMALL_DOLLARS = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumSignificantDigits: 3,
});

export function formatCount(count: number): string {
  return COUNT.format(count);
}

export function formatCompact(count: number): string {
  return Math.abs(count) < 10_000 ? COUNT.format(count) : COMPACT.format(count);
}

/** To read at a glance: cents where there are dollars, significant digits where there are none. */
export function formatMoney(microdollars: number): string {
  const usd = microdollars / MICRODOLLARS_PER_USD;
  const size = Math.abs(usd);
  if (size >= 100_000) return WHOLE_DOLLARS.format(usd);
  if (size >= 1 || size === 0) return DOLLARS.format(usd);
  return SMALL_DOLLARS.format(usd);
}

/** Every microdollar, for a column that must add up. */
export function formatExactMoney(microdollars: number): string {
  const text = formatUsd(microdollars);
  return text.startsWith('-') ? `-$${text.slice(1)}` : `$${text}`;
}

const RATE = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 6 });

/** US dollars per million tokens. */
export function formatRate(usd: number): string {
  return RATE.format(usd);
}

/** A field of a price in words: `long_context.pricing_input_per_mtok` is “long context input, per million tokens”. */
export function nameOfRate(field: string): string {
  return field
    .replace('pricing_', '')
    .replace('_per_mtok', ', per million tokens')
    .replace('_microdollars', ', microdollars')
    .replaceAll(/[_.]/g, ' ');
}

const MAX_SHOWN_SHARE = 10;

export function formatPercent(share: number, digits = 1): string {
  if (share >= MAX_SHOWN_SHARE) return 'over 999 %';
  return `${(share * 100).toFixed(digits)} %`;
}

export function formatMs(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** A change between two periods; null when the earlier one has nothing to compare with. */
export function changeOf(now: number, before: number): number | null {
  return before === 0 ? null : (now - before) / before;
}

export function microdollarsOf(usd: string): number {
  return Math.round(Number(usd) * MICRODOLLARS_PER_USD);
}
