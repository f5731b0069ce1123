import { useEffect, useRef } from 'react';
import { useUrlState } from '../url-state.ts';
import { type Choice, Field, Select } from './Field.tsx';

/** A filter kept in the address under its name; choosing one goes back to the first page of the list. */
export function FilterSelect({
  label,
  name,
  any,
  choices,
}: {
  label: string;
  name: string;
  /** What is chosen when nothing is. */
  any: string;
  choices: readonly (Choice | string)[];
}) {
  const [state, set] = useUrlState();
  const named = choices.map((choice) =>
    typeof choice === 'string' ? { value: choice, label: choice } : choice,
  );
  return (
    <Select
      bare
      label={label}
      value={state[name] ?? ''}
      choices={[{ value: '', label: any }, ...named]}
      onChange={({ target }) => set({ [name]: target.value, page: undefined })}
    />
  );
}

/** Free text; takes effect when it is left or entered, so that not every letter asks the server. */
export function FilterText({
  label,
  name,
  placeholder = label,
  className = 'w-40',
}: {
  label: string;
  name: string;
  placeholder?: string;
  className?: string;
}) {
  const [state, set] = useUrlState();
  const field = useRef<HTMLInputElement>(null);
  const current = state[name] ?? '';
  // Set from elsewhere (a link, a cleared filter) the field has to follow, and keep the focus it has.
  useEffect(() => {
    if (field.current) field.current.value = current;
  }, [current]);
  const apply = (text: string) => {
    if (text.trim() !== current) set({ [name]: text.trim(), page: undefined });
  };
  return (
    <Field
      bare
      label={label}
      placeholder={placeholder}
      className={className}
      ref={field}
      defaultValue={current}
      onBlur={({ target }) => apply(target.value)}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
    />
  );
}
