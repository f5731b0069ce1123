import { setTheme, setZone, type Theme, useTheme, useZone, type Zone } from '../preferences.ts';

function Segments<Value extends string>({
  label,
  values,
  current,
  onChoose,
}: {
  label: string;
  values: ReadonlyArray<{ value: Value; label: string }>;
  current: Value;
  onChoose: (value: Value) => void;
}) {
  return (
    <fieldset className="flex rounded-[7px] bg-sunken p-0.5">
      <legend className="sr-only">{label}</legend>
      {values.map(({ value, label: text }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === current}
          onClick={() => onChoose(value)}
          className={`h-7 flex-1 rounded-[5px] px-2 text-[12px] whitespace-nowrap ${
            value === current
              ? 'bg-surface font-medium text-ink shadow-card ring-1 ring-line-strong'
              : 'text-muted hover:text-ink'
          }`}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}

const ZONES: ReadonlyArray<{ value: Zone; label: string }> = [
  { value: 'utc', label: 'UTC' },
  { value: 'local', label: 'Local time' },
];
const THEMES: ReadonlyArray<{ value: Theme; label: string }> = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export function ZoneSwitch() {
  return <Segments label="Times are shown in" values={ZONES} current={useZone()} onChoose={setZone} />;
}

export function ThemeSwitch() {
  return <Segments label="Theme" values={THEMES} current={useTheme()} onChoose={setTheme} />;
}
