const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** One character per value; more values than cells are summed into as many groups. */
export function sparkline(values: number[], cells: number): string {
  const groups = grouped(values, cells);
  const highest = Math.max(...groups, 0);
  return groups
    .map((value) => {
      if (highest === 0 || value <= 0) return LEVELS[0];
      return LEVELS[Math.min(LEVELS.length - 1, Math.floor((value / highest) * LEVELS.length))];
    })
    .join('');
}

function grouped(values: number[], cells: number): number[] {
  if (values.length <= cells) return values;
  const groups = new Array<number>(cells).fill(0);
  for (const [index, value] of values.entries()) {
    groups[Math.floor((index * cells) / values.length)]! += value;
  }
  return groups;
}

/** A bar of eighths of a cell; anything above nothing is at least a sliver. */
export function bar(value: number, highest: number, cells: number): string {
  if (value <= 0 || highest <= 0) return '';
  const eighths = Math.max(1, Math.round((Math.min(value, highest) / highest) * cells * PARTS.length));
  return '█'.repeat(Math.floor(eighths / PARTS.length)) + PARTS[eighths % PARTS.length];
}
