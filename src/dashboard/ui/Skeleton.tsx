/** Stands where something will be, in its size, so that nothing jumps when it comes. */
export function Skeleton({ className = 'h-4 w-24' }: { className?: string }) {
  return <span aria-hidden="true" className={`skeleton block ${className}`} />;
}

export function SkeletonRows({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton
          // biome-ignore lint/suspicious/noArrayIndexKey: rows of a skeleton are all the same
          key={row}
          className={`h-4 ${row % 3 === 0 ? 'w-full' : row % 3 === 1 ? 'w-4/5' : 'w-11/12'}`}
        />
      ))}
    </div>
  );
}
