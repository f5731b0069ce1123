/** How large a part is of the whole, drawn under the name it belongs to. */
export function Share({ part, whole }: { part: number; whole: number }) {
  const width = whole > 0 ? Math.max(1, (part / whole) * 100) : 0;
  return (
    <span aria-hidden="true" className="mt-1 block h-1 w-full overflow-hidden rounded-full bg-sunken">
      <span className="block h-full rounded-full bg-accent-strong" style={{ width: `${width}%` }} />
    </span>
  );
}
