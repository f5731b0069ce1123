const MINUTE_MS = 60_000;
/** The 29th of February can be eight years away; nothing in a schedule is further. */
const MAX_DAYS_AHEAD = 8 * 366;

/** Each field's numbers; the day fields also say whether they were left open. */
interface Cron {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  daysOfMonth: ReadonlySet<number>;
  months: ReadonlySet<number>;
  daysOfWeek: ReadonlySet<number>;
  anyDayOfMonth: boolean;
  anyDayOfWeek: boolean;
}

/** The first whole minute after an instant at which a five-field UTC cron line fires; null when it never does. */
export function nextCronMs(line: string, afterMs: number): number | null {
  const cron = parseCron(line);
  if (!cron) return null;
  const firstMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const first = new Date(firstMs);
  const day = Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), first.getUTCDate());
  for (let ahead = 0; ahead <= MAX_DAYS_AHEAD; ahead++) {
    const dayMs = day + ahead * 24 * 60 * MINUTE_MS;
    if (!isDayOf(cron, new Date(dayMs))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const atMs = dayMs + (hour * 60 + minute) * MINUTE_MS;
        if (atMs >= firstMs) return atMs;
      }
    }
  }
  return null;
}

/** As cron has it since ever: when both day fields are given, either of them is enough. */
function isDayOf(cron: Cron, day: Date): boolean {
  if (!cron.months.has(day.getUTCMonth() + 1)) return false;
  const byMonth = cron.daysOfMonth.has(day.getUTCDate());
  const byWeek = cron.daysOfWeek.has(day.getUTCDay());
  return cron.anyDayOfMonth || cron.anyDayOfWeek ? byMonth && byWeek : byMonth || byWeek;
}

function parseCron(line: string): Cron | null {
  const fields = line.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [string, string, string, string, string];
  const minutes = parseField(minute, 0, 59);
  const hours = parseField(hour, 0, 23);
  const daysOfMonth = parseField(dayOfMonth, 1, 31);
  const months = parseField(month, 1, 12);
  const daysOfWeek = parseField(dayOfWeek.replaceAll('7', '0'), 0, 6);
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek) return null;
  return {
    minutes,
    hours,
    daysOfMonth,
    months,
    daysOfWeek,
    anyDayOfMonth: dayOfMonth === '*',
    anyDayOfWeek: dayOfWeek === '*',
  };
}

/** Numbers in rising order, from `*`, `5`, `1-5`, either with a step, and lists of these. */
function parseField(text: string, min: number, max: number): Set<number> | null {
  const numbers: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
    if (!match) return null;
    const [, from, to, step] = match;
    const first = from === undefined ? min : Number(from);
    const last = to !== undefined ? Number(to) : from === undefined || step !== undefined ? max : first;
    if (first < min || last > max || first > last || step === '0') return null;
    for (let number = first; number <= last; number += Number(step ?? 1)) numbers.push(number);
  }
  return new Set(numbers.sort((a, b) => a - b));
}
