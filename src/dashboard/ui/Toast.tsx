import { useSyncExternalStore } from 'react';

interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const SHOWN_MS = 6_000;
const MAX_TOASTS = 4;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let nextId = 1;

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function showToast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = nextId++;
  change([...toasts, { id, text, tone }].slice(-MAX_TOASTS));
  setTimeout(() => change(toasts.filter((toast) => toast.id !== id)), SHOWN_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The region is always there: screen readers only tell what is added to a region they know. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section
      aria-live="polite"
      aria-label="Notifications"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {shown.map((toast) => (
        <p
          key={toast.id}
          className={`pointer-events-auto rounded-lg border bg-surface px-4 py-3 shadow-lg ${
            toast.tone === 'bad' ? 'border-bad text-bad' : 'border-line-strong text-ink'
          }`}
        >
          {toast.text}
        </p>
      ))}
    </section>
  );
}
