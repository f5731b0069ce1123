import { type ReactNode, useEffect } from 'react';
import { Wordmark } from './Shell.tsx';

/** The quiet frame of the pages before the log-in. */
export function AuthFrame({
  title,
  note,
  children,
  below,
}: {
  title: string;
  note?: ReactNode;
  children: ReactNode;
  below?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Gateway`;
  }, [title]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex justify-center">
          <Wordmark />
        </div>
        <div className="flex flex-col gap-5 rounded-xl border border-line bg-surface p-6 shadow-card">
          <header>
            <h1 className="text-lg font-semibold tracking-tight">{title}</h1>
            {note && <p className="mt-1 text-muted">{note}</p>}
          </header>
          {children}
        </div>
        {below && <div className="mt-4 text-center text-muted">{below}</div>}
      </div>
    </main>
  );
}

export function FormError({ error }: { error: Error | null }) {
  if (!error) return null;
  return (
    <p role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
      {error.message}
    </p>
  );
}
