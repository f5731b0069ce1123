import { type ReactNode, useEffect, useId, useRef } from 'react';

/** The browser's own modal dialog: it traps the focus, closes on Escape, and makes the rest inert by itself. */
export function Dialog({
  title,
  note,
  open,
  onClose,
  children,
}: {
  title: string;
  note?: ReactNode;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (open && element && !element.open) element.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      className="m-auto w-[30rem] max-w-[calc(100vw-2rem)] rounded-xl border border-line bg-surface p-0 text-ink shadow-2xl"
    >
      <div className="flex max-h-[85dvh] flex-col gap-4 overflow-y-auto p-5">
        <header>
          <h2 id={id} className="text-lg font-semibold">
            {title}
          </h2>
          {note && <p className="mt-1 text-muted">{note}</p>}
        </header>
        {children}
      </div>
    </dialog>
  );
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="mt-1 flex flex-wrap justify-end gap-2">{children}</div>;
}
