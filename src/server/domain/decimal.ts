/**
 * Exact decimals as scaled integers: `1.25` at six places is 1250000n. A JSON number is read through its
 * shortest text, which is what its author typed; arithmetic on the double itself would already be wrong.
 */
const DECIMAL_TEXT = /^(\d{1,15})(?:\.(\d+))?$/;

/** Null when the value is not a plain non-negative decimal or has more places than asked for. */
export function parseDecimal(value: unknown, places: number): bigint | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const match = DECIMAL_TEXT.exec(String(value));
  if (!match) return null;
  const [, whole, fraction = ''] = match;
  if (fraction.length > places) return null;
  return BigInt(whole + fraction.padEnd(places, '0'));
}

/** The shortest exact text of a non-negative scaled integer: no exponent, no trailing zeros. */
export function formatDecimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
