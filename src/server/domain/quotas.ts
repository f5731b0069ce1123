import { type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import {
  DEFAULT_ALERT_THRESHOLDS,
  type FORECAST_STATES,
  type QUOTA_DIMENSIONS,
} from '../../contract/spend-quotas.ts';
import { hasReached, shortUsd } from './budgets.ts';
import { type Period, type PeriodBounds, periodOf } from './period.ts';
import { readScopeName } from './scope.ts';

export type QuotaDimension = (typeof QUOTA_DIMENSIONS)[number];
export type ForecastState = (typeof FORECAST_STATES)[number];

export interface Quota {
  id: string;
  dimensionType: QuotaDimension;
  /** A team's id, or the name as requests carry it; empty for all of the tenant. */
  dimensionValue: string;
  period: Period;
  limitMicrodollars: number;
  /** Percent of the limit, lowest first, none twice. */
  alertThresholds: readonly number[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A line through less than this points anywhere. */
const MIN_WINDOW_MS: Record<Period, number> = { day: HOUR_MS, week: DAY_MS, month: DAY_MS };

/** What a new quota is about; a team is still whatever its caller calls it. */
export function readQuotaDimension(
  dimensionType: QuotaDimension,
  given: string | null | undefined,
): string | Refusal {
  const value = readScopeName(given);
  if (dimensionType === 'tenant_total') {
    if (value === null) return '';
    return refuse('invalid_field', 'The field "dimension_value" is not valid: for tenant_total it is empty.');
  }
  return (
    value ?? refuse('invalid_field', `The field "dimension_value" is required: say which ${dimensionType}.`)
  );
}

export function readThresholds(given: readonly number[] | undefined): number[] {
  return [...new Set(given ?? DEFAULT_ALERT_THRESHOLDS)].sort((a, b) => a - b);
}

/** What has been told of a quota: null before anybody looked. */
export type Told = { periodStartMs: number; threshold: number } | null;

/**
 * The thresholds to tell now, lowest first: all that were passed since the last look in this period. A quota
 * nobody looked at before may have been passed long ago, so of several only the highest is news.
 */
export function thresholdsToTell(
  quota: Pick<Quota, 'alertThresholds' | 'limitMicrodollars'>,
  told: Told,
  periodStartMs: number,
  spendMicrodollars: number,
): number[] {
  const reached = quota.alertThresholds.filter((percent) =>
    hasReached(spendMicrodollars, percent, quota.limitMicrodollars),
  );
  if (told === null) return reached.slice(-1);
  const toldNow = told.periodStartMs === periodStartMs ? told.threshold : 0;
  return reached.filter((percent) => percent > toldNow);
}

/** The alert for a threshold; its cause makes it one per quota, period and threshold. */
export function quotaAlert(
  quota: Quota,
  percent: number,
  standing: { periodStartMs: number; spendMicrodollars: number },
  /** For the dimension team: people know it by its name. */
  teamName: string | null,
) {
  const periodStart = new Date(standing.periodStartMs).toISOString();
  const { spendMicrodollars } = standing;
  return {
    type: 'budget_threshold' as const,
    severity: severityOf(percent),
    title:
      `${percent}% of the spend quota for ${describeDimension(quota, teamName)} is used: ` +
      `${shortUsd(spendMicrodollars)} of ${shortUsd(quota.limitMicrodollars)} this ${quota.period}`,
    metadata: {
      quota_id: quota.id,
      threshold: percent / 100,
      dimension_type: quota.dimensionType,
      dimension_value: quota.dimensionValue,
      period_start: periodStart,
      spend_microdollars: spendMicrodollars,
      spend_usd: formatUsd(spendMicrodollars),
      limit_microdollars: quota.limitMicrodollars,
      limit_usd: formatUsd(quota.limitMicrodollars),
    },
    cause: `quota:${quota.id}:${periodStart}:${percent}`,
  };
}

function severityOf(percent: number): 'info' | 'warning' | 'critical' {
  if (percent >= 100) return 'critical';
  return percent >= 80 ? 'warning' : 'info';
}

function describeDimension(quota: Quota, teamName: string | null): string {
  switch (quota.dimensionType) {
    case 'tenant_total':
      return 'the whole account';
    case 'team':
      return `team ${teamName ?? quota.dimensionValue}`;
    case 'end_customer':
      return `end customer ${quota.dimensionValue}`;
    default:
      return `${quota.dimensionType} ${quota.dimensionValue}`;
  }
}

export interface Forecast {
  state: ForecastState;
  /** What the period will have cost at its end. */
  projectedMicrodollars: number | null;
  projectedExhaustionAtMs: number | null;
  dailyRunRateMicrodollars: number | null;
  /** How much of the period the estimate rests on. */
  windowMs: number;
}

/**
 * A straight line through the spend of this period, drawn on to its end. It begins where the period does or,
 * when requests began later, with the first of them; over less than a day of a week or month (an hour of a
 * day) there is nothing to draw it through.
 */
export function forecast(
  quota: Pick<Quota, 'period' | 'limitMicrodollars'>,
  spendMicrodollars: number,
  /** When requests of this kind began at all; null when there was none yet. */
  firstUsageAtMs: number | null,
  nowMs: number,
): Forecast {
  const bounds = periodOf(quota.period, nowMs);
  const limit = quota.limitMicrodollars;
  const windowMs =
    firstUsageAtMs === null ? 0 : Math.max(0, nowMs - Math.max(bounds.startMs, firstUsageAtMs));
  const isOver = spendMicrodollars >= limit;
  if (windowMs < MIN_WINDOW_MS[quota.period]) {
    return {
      state: isOver ? 'over_limit' : 'insufficient_data',
      projectedMicrodollars: null,
      projectedExhaustionAtMs: null,
      dailyRunRateMicrodollars: null,
      windowMs,
    };
  }
  // To the end of the period as if it had begun with the window.
  const projected = share(spendMicrodollars, windowMs + bounds.endMs - nowMs, windowMs);
  const rest = { projectedMicrodollars: projected, windowMs };
  const dailyRunRateMicrodollars = share(spendMicrodollars, DAY_MS, windowMs);
  if (isOver)
    return { ...rest, state: 'over_limit', projectedExhaustionAtMs: null, dailyRunRateMicrodollars };
  const exhaustedAtMs = exhaustionAt(limit - spendMicrodollars, spendMicrodollars, windowMs, nowMs, bounds);
  return {
    ...rest,
    state: exhaustedAtMs === null ? 'on_track' : 'projected_exhaustion',
    projectedExhaustionAtMs: exhaustedAtMs,
    dailyRunRateMicrodollars,
  };
}

/** When the rest is used up at this rate; null when that is not before the period ends. */
function exhaustionAt(
  restMicrodollars: number,
  spendMicrodollars: number,
  windowMs: number,
  nowMs: number,
  bounds: PeriodBounds,
): number | null {
  if (spendMicrodollars === 0) return null;
  const atMs = nowMs + share(windowMs, restMicrodollars, spendMicrodollars);
  return atMs < bounds.endMs ? atMs : null;
}

/** value × part ÷ whole, rounded half up, exact. */
function share(value: number, part: number, whole: number): number {
  const divisor = BigInt(whole);
  const rounded = (2n * BigInt(value) * BigInt(part) + divisor) / (2n * divisor);
  // An absurd rate is shown as the largest figure there is, not as a fault.
  return rounded > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(rounded);
}
