/** Budgets, quotas and rollups all turn over on UTC instants, so no time zone or DST can move a limit. */
export const PERIODS = ['day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

/** `endMs` is the first instant of the next period: start ≤ t < end. */
export interface PeriodBounds {
  startMs: number;
  endMs: number;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** 1970-01-01 was a Thursday, so the first Monday of the epoch is its fifth day. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

export function periodOf(period: Period, atMs: number): PeriodBounds {
  switch (period) {
    case 'day': {
      const startMs = Math.floor(atMs / DAY_MS) * DAY_MS;
      return { startMs, endMs: startMs + DAY_MS };
    }
    case 'week': {
      const startMs = Math.floor((atMs - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
      return { startMs, endMs: startMs + WEEK_MS };
    }
    case 'month': {
      const at = new Date(atMs);
      const year = at.getUTCFullYear();
      const month = at.getUTCMonth();
      return { startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
    }
  }
}
