import { type ReactNode, useId } from 'react';

export function Card({
  title,
  note,
  actions,
  children,
  className = '',
}: {
  title?: ReactNode;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  const id = useId();
  return (
    <section
      {...(title ? { 'aria-labelledby': id } : {})}
      className={`min-w-0 overflow-hidden rounded-xl border border-line bg-surface shadow-card ${className}`}
    >
      {title && (
        <header className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line px-4 py-2">
          <div className="min-w-0">
            <h2 id={id} className="font-semibold">
              {title}
            </h2>
            {note && <p className="text-[13px] text-muted">{note}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** One figure with its name, and below it what puts it into proportion. */
export function Stat({ label, children, below }: { label: string; children: ReactNode; below?: ReactNode }) {
  return (
    <div className="min-w-0 bg-surface px-4 py-3">
      <dt className="text-[13px] text-muted">{label}</dt>
      <dd className="mt-0.5 truncate text-[22px] leading-8 font-semibold tracking-tight tabular-nums">
        {children}
      </dd>
      <dd className="min-h-5 text-[13px] text-muted">{below}</dd>
    </div>
  );
}

/** Label and value, one under the other in two columns. */
export function Facts({ rows }: { rows: ReadonlyArray<readonly [string, ReactNode]> }) {
  return (
    <dl className="grid grid-cols-[minmax(8rem,max-content)_1fr] gap-x-6 gap-y-2 px-4 py-3">
      {rows.map(([label, value]) => (
        <div key={label} className="contents">
          <dt className="text-muted">{label}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
