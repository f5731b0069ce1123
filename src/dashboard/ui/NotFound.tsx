import { ButtonLink } from './Button.tsx';
import { EmptyState } from './EmptyState.tsx';

export function NotFound() {
  return (
    <EmptyState title="There is no such page" action={<ButtonLink to="/">Go to the overview</ButtonLink>}>
      The address may be old, or something it named has been deleted.
    </EmptyState>
  );
}
