import { formatPercent } from '../numbers.ts';

const WARN_FROM = 0.8;

/** How much of a limit is used; past it the bar is full and red. `projected` marks where the period will end. */
export function Meter({
  label,
  share,
  projected,
}: {
  label: string;
  share: number;
  projected?: number | null;
}) {
  const tone =
    share >= 1 ? 'bg-bad-strong' : share >= WARN_FROM ? 'bg-[var(--series-2)]' : 'bg-accent-strong';
  return (
    <div className="relative h-2 w-full min-w-24 overflow-hidden rounded-full bg-sunken">
      {/* The browser's own meter is for those who hear it: it cannot show a second bar. */}
      <meter className="sr-only" aria-label={label} min={0} max={1} value={Math.min(1, share)}>
        {formatPercent(share)}
      </meter>
      {projected !== undefined && projected !== null && projected > share && (
        <div
          className={`absolute inset-y-0 left-0 opacity-35 ${projected >= 1 ? 'bg-bad-strong' : tone}`}
          style={{ width: `${Math.min(100, projected * 100)}%` }}
        />
      )}
      <div
        className={`absolute inset-y-0 left-0 ${tone}`}
        style={{ width: `${Math.min(100, share * 100)}%` }}
      />
    </div>
  );
}
