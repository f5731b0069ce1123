import { ButtonLink } from './Button.tsx';
import { EmptyState } from './EmptyState.tsx';

export function NotFound() {
  return (
    <EmptyState
      title={<h1>There is no such page</h1>}
      action={<ButtonLink to="/">Go to the overview</ButtonLink>}
    >
      The address may be old, or something it named has been deleted.
    </EmptyState>
  );
}
