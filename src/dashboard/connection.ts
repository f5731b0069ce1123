import { useSyncExternalStore } from 'react';
import { queryClient, RefusedCall } from './api.ts';

let isAway = false;
const listeners = new Set<() => void>();

function note(away: boolean): void {
  if (away === isAway) return;
  isAway = away;
  for (const listener of listeners) listener();
}

/** A refusal is an answer too: only a call that brought none says that nobody is there. */
queryClient.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated') return;
  if (event.action.type === 'success') note(false);
  if (event.action.type === 'failed' || event.action.type === 'error')
    note(!(event.action.error instanceof RefusedCall));
});

/** Whether the last call got no answer. What is on screen stays there meanwhile, and would pass for today's. */
export function useIsAway(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isAway,
  );
}
