import type { ReactNode } from 'react';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand on the right, digit under digit. */
  numeric?: boolean;
  /** Left out on screens narrower than this. */
  from?: 'sm' | 'md' | 'lg' | 'xl';
  /** Only for screen readers: the column's buttons speak for themselves. */
  hideHead?: boolean;
}

const FROM = {
  sm: 'max-sm:hidden',
  md: 'max-md:hidden',
  lg: 'max-lg:hidden',
  xl: 'max-xl:hidden',
} as const;

function classOf<Row>(column: Column<Row>): string {
  return `${column.numeric ? 'numeric' : 'text-left'} ${column.from ? FROM[column.from] : ''}`;
}

/** A table that scrolls sideways inside itself; the region can be reached and moved with the keyboard. */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  rowClass,
  empty,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  rowClass?: (row: Row) => string;
  empty?: ReactNode;
}) {
  if (rows.length === 0 && empty) return empty;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable
    <section aria-label={label} tabIndex={0} className="relative overflow-x-auto">
      <table className="w-full border-collapse text-[13px]">
        <thead>
          <tr className="border-b border-line">
            {columns.map((column) => (
              <th
                key={column.head}
                scope="col"
                className={`px-2.5 py-2 font-medium text-muted first:pl-4 last:pr-4 sm:px-4 ${classOf(column)}`}
              >
                {column.hideHead ? <span className="sr-only">{column.head}</span> : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className={`border-b border-line last:border-0 hover:bg-sunken/60 ${rowClass?.(row) ?? ''}`}
            >
              {columns.map((column) => (
                <td
                  key={column.head}
                  className={`px-2.5 py-2 align-middle first:pl-4 last:pr-4 sm:px-4 ${classOf(column)}`}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
