import { useMemo } from 'react';
import { type Output, useApi } from '../api.ts';
import { TimeChart } from '../charts/TimeChart.tsx';
import { formatMoney } from '../numbers.ts';
import { utcDay } from '../time.ts';
import { Skeleton } from '../ui/Skeleton.tsx';
import type { Quota } from './QuotasPage.tsx';

type Outlook = Output<'forecastSpendQuota'>;

const STEP_MS = { day: 3_600_000, week: 86_400_000, month: 86_400_000 } as const;

/** The filter of usage reports that a quota's dimension is. */
function filterOf(quota: Quota): { model?: string; team_id?: string; service?: string } {
  switch (quota.dimension_type) {
    case 'model':
      return { model: quota.dimension_value };
    case 'team':
      return { team_id: quota.dimension_value };
    case 'service':
      return { service: quota.dimension_value };
    default:
      return {};
  }
}

function useSpendRows(quota: Quota, consumption: Outlook['consumption']) {
  const isCustomer = quota.dimension_type === 'end_customer';
  const range = { from: utcDay(Date.parse(consumption.period_start)), to: utcDay(Date.now()) };
  const bucket = quota.period === 'day' ? 'hour' : 'day';
  const series = useApi(
    'getUsageTimeseries',
    { query: { ...range, bucket, ...filterOf(quota) } },
    { enabled: !isCustomer },
  );
  const customer = useApi(
    'getUsageOfEndCustomer',
    { params: { customer: quota.dimension_value || '-' }, query: range },
    { enabled: isCustomer },
  );
  return isCustomer ? customer.data?.timeseries : series.data?.data;
}

/** Spend so far as a rising line, the forecast from now to the end of the period, and the limit above them. */
export function QuotaChart({
  quota,
  name,
  consumption,
  forecast,
}: { quota: Quota; name: string } & Pick<Outlook, 'consumption' | 'forecast'>) {
  const rows = useSpendRows(quota, consumption);
  const drawn = useMemo(() => {
    if (!rows) return null;
    const step = STEP_MS[quota.period];
    const start = Date.parse(consumption.period_start);
    const end = Date.parse(consumption.period_end);
    const spent = new Map(rows.map((row) => [Date.parse(row.bucket), row.cost_microdollars]));
    const nowMs = Date.now();
    const times: number[] = [];
    const actual: Array<number | null> = [];
    let sum = 0;
    let lastActual = 0;
    for (let at = start; at <= end; at += step) {
      times.push(at / 1000);
      // What a bucket holds has been spent when it ends, so it stands at the next mark.
      if (at > start) sum += spent.get(at - step) ?? 0;
      const isPast = at - step < nowMs;
      actual.push(isPast ? sum : null);
      if (isPast) lastActual = times.length - 1;
    }
    const from = actual[lastActual] ?? 0;
    const goal = forecast.projected_microdollars;
    const remaining = times.length - 1 - lastActual;
    const projected = times.map((_, at) =>
      goal === null || at < lastActual || remaining === 0
        ? null
        : from + ((goal - from) * (at - lastActual)) / remaining,
    );
    return { times, actual, projected };
  }, [rows, quota.period, consumption, forecast]);
  if (!drawn) return <Skeleton className="m-4 h-64" />;
  return (
    <TimeChart
      label={`${name}: ${formatMoney(consumption.spend_microdollars)} spent of ${formatMoney(quota.limit_microdollars)}`}
      bucket={quota.period === 'day' ? 'hour' : 'day'}
      times={drawn.times}
      series={[
        { label: 'spent', colour: '--series-1', values: drawn.actual },
        { label: 'forecast', colour: '--series-2', values: drawn.projected, dashed: true },
        {
          label: 'limit',
          colour: '--series-3',
          values: drawn.times.map(() => quota.limit_microdollars),
          dashed: true,
        },
      ]}
      format={formatMoney}
    />
  );
}
