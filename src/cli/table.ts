import type { Colours } from './colours.ts';
import { cut, padEnd, padStart, showable, widthOf } from './text.ts';

const GAP = '  ';
/** Narrower than this a column says nothing any more. */
const MIN_FLEXIBLE_CELLS = 8;

export interface Column<Row> {
  title: string;
  of(row: Row): string;
  right?: boolean;
  /** May be cut when the terminal is too narrow. Identifiers are not: a cut one is useless. */
  flexible?: boolean;
  /** May be left out when cutting is not enough; the rightmost goes first. */
  minor?: boolean;
  paint?(text: string, row: Row, colours: Colours): string;
}

export interface TableSettings {
  /** Terminal cells to fit into; null when nobody looks and all of it is wanted. */
  width: number | null;
  colours: Colours;
}

/** Aligned columns under capital titles, one string per line. */
export function layTable<Row>(all: Column<Row>[], rows: Row[], settings: TableSettings): string[] {
  const { columns, widths } = chooseColumns(all, rows, settings.width ?? Number.POSITIVE_INFINITY);
  const cells = rows.map((row) => columns.map((column) => showable(column.of(row))));
  const lineOf = (texts: string[], paint: (text: string, index: number) => string) =>
    texts
      .map((text, index) => {
        const fitted = cut(text, widths[index]!);
        const padded = columns[index]!.right
          ? padStart(fitted, widths[index]!)
          : index === columns.length - 1
            ? fitted
            : padEnd(fitted, widths[index]!);
        // Painting keeps the padding outside, so that an underline or background would end with the text.
        return padded.replace(fitted, () => paint(fitted, index));
      })
      .join(GAP)
      .trimEnd();
  const head = lineOf(
    columns.map((column) => column.title),
    (text) => settings.colours.dim(text),
  );
  const body = cells.map((line, rowIndex) =>
    lineOf(line, (text, index) => columns[index]!.paint?.(text, rows[rowIndex]!, settings.colours) ?? text),
  );
  return [head, ...body];
}

/** Cuts columns as far as they go, then leaves minor ones out, until a line fits or nothing more can be done. */
function chooseColumns<Row>(all: Column<Row>[], rows: Row[], available: number) {
  let columns = all;
  for (;;) {
    const widths = columns.map((column) =>
      rows.reduce((width, row) => Math.max(width, widthOf(showable(column.of(row)))), widthOf(column.title)),
    );
    if (shrink(columns, widths, available)) return { columns, widths };
    const last = columns.findLastIndex((column) => column.minor);
    if (last === -1) return { columns, widths };
    columns = columns.toSpliced(last, 1);
  }
}

/** Takes from the widest flexible column, cell by cell; says whether that was enough. */
function shrink<Row>(columns: Column<Row>[], widths: number[], available: number): boolean {
  const gaps = GAP.length * (columns.length - 1);
  for (;;) {
    const total = widths.reduce((sum, width) => sum + width, gaps);
    if (total <= available) return true;
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const least = Math.max(MIN_FLEXIBLE_CELLS, widthOf(column.title));
      if (!column.flexible || widths[index]! <= least) continue;
      if (widest === -1 || widths[index]! > widths[widest]!) widest = index;
    }
    if (widest === -1) return false;
    widths[widest]! -= 1;
  }
}

/** Labels to the left, values to the right of them. */
export function layFields(fields: Array<[label: string, value: string]>, colours: Colours): string[] {
  const width = Math.max(...fields.map(([label]) => widthOf(label)));
  return fields.map(([label, value]) =>
    `${colours.dim(label)}${' '.repeat(width - widthOf(label))}${GAP}${value}`.trimEnd(),
  );
}
