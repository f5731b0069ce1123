import { useZone, type Zone } from './preferences.ts';

const DAY_MS = 86_400_000;

/** Formatters are dear to make and few: one per shape and zone. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: Zone, shape: keyof typeof SHAPES): Intl.DateTimeFormat {
  const key = `${zone} ${shape}`;
  let made = formatters.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat('en-GB', { ...SHAPES[shape], ...(zone === 'utc' && { timeZone: 'UTC' }) });
    formatters.set(key, made);
  }
  return made;
}

const SHAPES = {
  full: {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  },
  minute: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  second: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  clock: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  longDay: { day: 'numeric', month: 'short', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

export type TimeShape = keyof typeof SHAPES;

export function formatTime(time: string | number | Date, shape: TimeShape, zone: Zone): string {
  return formatter(zone, shape).format(new Date(time));
}

export function useFormatTime(): (time: string | number | Date, shape: TimeShape) => string {
  const zone = useZone();
  return (time, shape) => formatTime(time, shape, zone);
}

/** The UTC day a time lies in, as the API spells it. */
export function utcDay(time: number | Date): string {
  return new Date(time).toISOString().slice(0, 10);
}

const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** 3 min ago, in 2 d: one unit is enough to judge by. */
export function relativeTime(time: string | number, nowMs: number): string {
  const distance = new Date(time).getTime() - nowMs;
  const size = Math.abs(distance);
  const unit = UNITS.find(([, ms]) => size >= ms);
  if (!unit) return size < 5_000 ? 'now' : phrase(distance, `${Math.round(size / 1000)} s`);
  return phrase(distance, `${Math.floor(size / unit[1])} ${unit[0]}`);
}

function phrase(distance: number, text: string): string {
  return distance > 0 ? `in ${text}` : `${text} ago`;
}

export const PRESETS = {
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
} as const;
export type Preset = keyof typeof PRESETS;

/** Whole UTC days, both inclusive. */
export interface DayRange {
  from: string;
  to: string;
}

export function presetRange(preset: Preset, nowMs: number): DayRange {
  const now = new Date(nowMs);
  const today = utcDay(now);
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1);
  switch (preset) {
    case 'today':
      return { from: today, to: today };
    case '7d':
      return { from: utcDay(nowMs - 6 * DAY_MS), to: today };
    case '30d':
      return { from: utcDay(nowMs - 29 * DAY_MS), to: today };
    case '90d':
      return { from: utcDay(nowMs - 89 * DAY_MS), to: today };
    case 'month':
      return { from: utcDay(month(0)), to: today };
    case 'last-month':
      return { from: utcDay(month(-1)), to: utcDay(month(0) - DAY_MS) };
  }
}

export function daysIn({ from, to }: DayRange): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** As many days, right before. */
export function previousRange(range: DayRange): DayRange {
  const length = daysIn(range) * DAY_MS;
  return { from: utcDay(Date.parse(range.from) - length), to: utcDay(Date.parse(range.from) - DAY_MS) };
}
