import { type ReactNode, useState } from 'react';
import { Button } from '../ui/Button.tsx';

export interface Series {
  label: string;
  /** The name of a colour of the theme, such as --series-1. */
  colour: string;
  values: ReadonlyArray<number | null>;
  dashed?: boolean;
}

/** A drawing for the eye and the same figures as a table for everyone else, or for whoever prefers them. */
export function Figure({
  label,
  series,
  count,
  hovered,
  rowLabel,
  format,
  children,
}: {
  label: string;
  series: readonly Series[];
  count: number;
  hovered: number | null;
  rowLabel: (at: number) => string;
  format: (value: number) => string;
  children: ReactNode;
}) {
  const [asTable, setAsTable] = useState(false);
  const show = (value: number | null | undefined) =>
    value === null || value === undefined ? '–' : format(value);
  return (
    <figure className="flex min-w-0 flex-col gap-2 p-4">
      {asTable ? (
        <FigureTable label={label} series={series} count={count} rowLabel={rowLabel} show={show} />
      ) : (
        <div role="img" aria-label={label}>
          {children}
        </div>
      )}
      <figcaption className="flex items-start justify-between gap-x-4">
        <ul className="flex min-w-0 flex-1 flex-wrap gap-x-4 gap-y-1 text-[13px] text-muted">
          {series.map((one) => (
            <li key={one.label} className="flex items-center gap-1.5">
              <span
                aria-hidden="true"
                className="size-2.5 shrink-0 rounded-[3px]"
                style={{ background: `var(${one.colour})` }}
              />
              <span className="max-w-48 truncate">{one.label}</span>
              {hovered !== null && <span className="text-ink tabular-nums">{show(one.values[hovered])}</span>}
            </li>
          ))}
          {hovered !== null && hovered < count && <li className="text-ink">{rowLabel(hovered)}</li>}
        </ul>
        <Button small look="quiet" className="shrink-0" onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show chart' : 'Show table'}
        </Button>
      </figcaption>
    </figure>
  );
}

function FigureTable({
  label,
  series,
  count,
  rowLabel,
  show,
}: {
  label: string;
  series: readonly Series[];
  count: number;
  rowLabel: (at: number) => string;
  show: (value: number | null | undefined) => string;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable
    <section tabIndex={0} aria-label={`${label}, as a table`} className="max-h-72 overflow-auto">
      <table className="w-full text-[13px]">
        <thead>
          <tr>
            <th scope="col" className="py-1 pr-4 text-left font-medium text-muted">
              Time
            </th>
            {series.map((one) => (
              <th key={one.label} scope="col" className="numeric py-1 pl-4 font-medium text-muted">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: count }, (_, at) => count - 1 - at).map((at) => (
            <tr key={at} className="border-t border-line">
              <th scope="row" className="py-1 pr-4 text-left font-normal whitespace-nowrap">
                {rowLabel(at)}
              </th>
              {series.map((one) => (
                <td key={one.label} className="numeric py-1 pl-4">
                  {show(one.values[at])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
