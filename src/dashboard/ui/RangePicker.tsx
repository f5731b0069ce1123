import { PRESETS } from '../time.ts';
import { useRange, useUrlState } from '../url-state.ts';
import { Field, Select } from './Field.tsx';

const CHOICES = [
  ...Object.entries(PRESETS).map(([value, label]) => ({ value, label })),
  { value: 'custom', label: 'Custom range' },
];

/** Whole UTC days: what the rollups hold, so that a range costs the same however much traffic it had. */
export function RangePicker({ everything }: { everything?: string }) {
  const range = useRange();
  const [state, set] = useUrlState();
  const choices = everything === undefined ? CHOICES : [{ value: '', label: everything }, ...CHOICES];
  return (
    <fieldset className="flex flex-wrap items-center gap-2">
      <legend className="sr-only">Range, in UTC days</legend>
      {range.preset === 'custom' && (
        <>
          <Field
            bare
            label="From"
            type="date"
            value={range.from}
            max={range.to}
            onChange={(event) => event.target.value && set({ from: event.target.value, page: undefined })}
          />
          <Field
            bare
            label="To"
            type="date"
            value={range.to}
            min={range.from}
            onChange={(event) => event.target.value && set({ to: event.target.value, page: undefined })}
          />
        </>
      )}
      <Select
        bare
        label="Range"
        value={everything !== undefined && !state.range ? '' : range.preset}
        choices={choices}
        onChange={({ target }) =>
          set(
            target.value === 'custom'
              ? { range: 'custom', from: range.from, to: range.to, page: undefined }
              : { range: target.value, from: undefined, to: undefined, page: undefined },
          )
        }
      />
    </fieldset>
  );
}
