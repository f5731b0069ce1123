import { type ReactNode, useState } from 'react';
import { Button } from './Button.tsx';
import { Dialog, DialogActions } from './Dialog.tsx';

/** A button whose deed cannot be taken back: it asks first, and names what will happen. */
export function ConfirmButton({
  label,
  accessibleLabel,
  title,
  children,
  confirm,
  busy = false,
  onConfirm,
}: {
  label: string;
  /** Where many rows have the same button: which one this is. */
  accessibleLabel?: string;
  title: string;
  children: ReactNode;
  confirm: string;
  busy?: boolean;
  onConfirm: () => Promise<unknown>;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="danger-quiet" aria-label={accessibleLabel} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={title} open={open} onClose={() => setOpen(false)}>
        <div className="text-left whitespace-normal text-muted">{children}</div>
        <DialogActions>
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button
            look="danger"
            busy={busy}
            onClick={() =>
              onConfirm().then(
                () => setOpen(false),
                () => setOpen(false),
              )
            }
          >
            {confirm}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
