/** 1 USD = 1,000,000 microdollars. Money is exact integers everywhere; dollars exist only as text at the edge. */
export const MICRODOLLARS_PER_USD = 1_000_000;

/** Six decimals, exact: 4200 → "0.004200". */
export function formatUsd(microdollars: number | bigint): string {
  const value = BigInt(microdollars);
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(7, '0');
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * A JSON number of dollars to microdollars, exact up to six decimals. The shortest decimal text of the
 * double is what the caller typed, so it is read as text: 0.07 × 1e6 in doubles is 70000.00000000001.
 * Returns null when the number has more than six decimals or does not fit.
 */
export function parseUsd(usd: number): number | null {
  if (!Number.isFinite(usd)) return null;
  const text = usd.toString();
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return null;
  const [, sign, whole, fraction = ''] = match;
  const value = BigInt(whole!) * BigInt(MICRODOLLARS_PER_USD) + BigInt(fraction.padEnd(6, '0'));
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) return null;
  return Number(sign ? -value : value);
}
