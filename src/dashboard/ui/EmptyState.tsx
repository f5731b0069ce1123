import type { ReactNode } from 'react';
import { RefusedCall } from '../api.ts';
import { Button } from './Button.tsx';

/** Nothing here yet: says what would be, and what to do for it. */
export function EmptyState({
  title,
  children,
  action,
}: {
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <div className="font-medium">{title}</div>
      {children && <p className="max-w-md text-muted">{children}</p>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}

/** What happened, in the server's words, and the id that finds it in the log. */
export function ErrorState({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const requestId = error instanceof RefusedCall ? error.refused.requestId : null;
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="font-medium text-bad">{error.message}</p>
      {requestId && <p className="text-[13px] text-muted">Request id {requestId}</p>}
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
