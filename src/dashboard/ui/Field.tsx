import {
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  useId,
} from 'react';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** The label is only spoken: what is meant shows from its place. */
  bare?: boolean;
}

function Labelled({ id, label, hint, bare, children }: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className={bare ? 'contents' : 'flex min-w-0 flex-col gap-1'}>
      <label htmlFor={id} className={bare ? 'sr-only' : 'text-[13px] font-medium'}>
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="text-[13px] text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

export function Field({
  label,
  hint,
  bare = false,
  className,
  ...input
}: FieldProps & ComponentProps<'input'>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint} bare={bare}>
      <input
        {...input}
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className={`control min-w-0 ${bare || className?.includes('w-') ? '' : 'w-full'} ${className ?? ''}`}
      />
    </Labelled>
  );
}

export interface Choice {
  value: string;
  label: string;
}

export function Select({
  label,
  hint,
  bare = false,
  choices,
  className,
  ...select
}: FieldProps & { choices: readonly Choice[] } & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint} bare={bare}>
      <select
        {...select}
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className={`control min-w-0 ${bare ? '' : 'w-full'} ${className ?? ''}`}
      >
        {choices.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

export function Checkbox({ label, ...input }: { label: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input {...input} id={id} type="checkbox" className="mt-0.5 size-4 accent-accent-strong" />
      <label htmlFor={id}>{label}</label>
    </div>
  );
}

/** The texts of a form's fields by name. */
export function formTexts(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
}
