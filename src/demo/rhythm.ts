import type { Workload } from './company.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Business grows by this much a day. */
const DAILY_GROWTH = 1.008;

/** How busy each hour of a UTC day is, midnight first. */
const HOURS: Record<Workload['rhythm'], readonly number[]> = {
  office: [1, 1, 1, 1, 1, 2, 5, 12, 22, 30, 32, 30, 24, 28, 32, 31, 26, 18, 9, 6, 4, 3, 2, 1],
  shoppers: [6, 4, 3, 3, 3, 4, 7, 11, 15, 18, 20, 21, 23, 22, 20, 20, 21, 23, 26, 29, 28, 22, 15, 9],
  night: [0, 18, 40, 30, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
  always: [9, 9, 9, 9, 9, 10, 10, 11, 12, 12, 12, 12, 12, 12, 12, 12, 11, 11, 10, 10, 10, 9, 9, 9],
};
/** Of a working day, Sunday first. */
const WEEKDAYS: Record<Workload['rhythm'], readonly number[]> = {
  office: [0.06, 1, 1.05, 1.1, 1.05, 0.9, 0.09],
  shoppers: [0.75, 0.95, 0.95, 1, 1.05, 1.2, 1.15],
  night: [1, 1, 1, 1, 1, 1, 1],
  always: [0.7, 1, 1, 1, 1, 1, 0.8],
};

export interface Hour {
  startMs: number;
  endMs: number;
  share: number;
}

/** The hours of a span, each with how much of the work falls into it. The last one may not be whole. */
export function busyHours(rhythm: Workload['rhythm'], fromMs: number, toMs: number): Hour[] {
  const hours: Hour[] = [];
  for (let startMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS; startMs < toMs; startMs += HOUR_MS) {
    const at = new Date(startMs);
    const endMs = Math.min(startMs + HOUR_MS, toMs);
    const growth = DAILY_GROWTH ** ((startMs - fromMs) / DAY_MS);
    const busy = HOURS[rhythm][at.getUTCHours()]! * WEEKDAYS[rhythm][at.getUTCDay()]!;
    hours.push({ startMs, endMs, share: (busy * growth * (endMs - startMs)) / HOUR_MS });
  }
  return hours;
}
