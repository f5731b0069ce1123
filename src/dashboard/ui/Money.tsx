import { formatExactMoney, formatMoney } from '../numbers.ts';

/** Read at a glance; the exact figure on hover, or at once where it must add up. */
export function Money({ microdollars, exact = false }: { microdollars: number; exact?: boolean }) {
  return (
    <span className="tabular-nums" title={exact ? undefined : formatExactMoney(microdollars)}>
      {exact ? formatExactMoney(microdollars) : formatMoney(microdollars)}
    </span>
  );
}
