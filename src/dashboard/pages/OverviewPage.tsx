import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Output, useApi } from '../api.ts';
import { Share } from '../charts/Share.tsx';
import { SpendChart } from '../charts/SpendChart.tsx';
import { changeOf, formatCompact, formatCount, formatMoney, formatMs, formatPercent } from '../numbers.ts';
import { previousRange, utcDay } from '../time.ts';
import { SeverityBadge } from '../ui/Badge.tsx';
import { ButtonLink } from '../ui/Button.tsx';
import { Card, Stat } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { RangePicker } from '../ui/RangePicker.tsx';
import { Skeleton } from '../ui/Skeleton.tsx';
import { Age } from '../ui/Time.tsx';
import { type ChosenRange, keepRange, useRange, useUrlState } from '../url-state.ts';
import { BudgetGlance } from './BudgetGlance.tsx';

const REFRESH = { refetchInterval: 15_000 };
const TOP_ROWS = 6;
const SHOWN_ALERTS = 4;

type Summary = Output<'getUsageSummary'>;

export function OverviewPage() {
  const range = useRange();
  const days = { from: range.from, to: range.to };
  const summary = useApi('getUsageSummary', { query: days }, REFRESH);
  const earlier = previousRange(range);
  const before = useApi('getUsageSummary', { query: earlier });
  const account = useApi('getAccount');
  // Days before the account was there were not quiet days.
  const isComparable =
    account.data !== undefined && utcDay(new Date(account.data.created_at)) <= earlier.from;
  const isNew = summary.data?.total_requests === 0 && before.data?.total_requests === 0;
  return (
    <Page title="Overview" actions={<RangePicker />}>
      <Loaded query={summary} skeleton={<Skeleton className="h-28 w-full" />}>
        {(now) => <Figures now={now} before={before.data} isComparable={isComparable} />}
      </Loaded>
      {isNew && <Welcome />}
      <div className="grid gap-4 xl:grid-cols-[2fr_1fr]">
        <Card title="Spend by model" note="UTC days">
          <Loaded query={summary} skeleton={<Skeleton className="m-4 h-72" />}>
            {(now) => <SpendChart range={days} models={now.top_models.map(({ model_id }) => model_id)} />}
          </Loaded>
        </Card>
        <OpenAlerts />
      </div>
      <div className="grid gap-4 lg:grid-cols-3">
        <TopModels range={range} />
        <TopTeams range={range} />
        <TopServices range={range} />
      </div>
      <BudgetGlance />
    </Page>
  );
}

function Welcome() {
  return (
    <Card>
      <EmptyState
        title="No requests in this range yet"
        action={
          <ButtonLink to="/connect" look="primary">
            Connect your first client
          </ButtonLink>
        }
      >
        Point a client at the gateway and every call shows up here within seconds, with what it cost.
      </EmptyState>
    </Card>
  );
}

function Change({
  now,
  before,
  isComparable,
  goodDown = false,
}: {
  now: number;
  before: number | undefined;
  isComparable: boolean;
  goodDown?: boolean;
}) {
  if (before === undefined) return <Skeleton className="mt-1 h-3.5 w-24" />;
  const change = isComparable ? changeOf(now, before) : null;
  if (change === null) return <>no period before</>;
  const tone = Math.abs(change) < 0.0005 ? '' : change > 0 === goodDown ? 'text-bad' : 'text-good';
  return (
    <>
      <span className={goodDown ? tone : ''} title="against as many days right before">
        {change >= 0 ? '+' : '−'}
        {formatPercent(Math.abs(change))}
      </span>{' '}
      vs. before
    </>
  );
}

function Figures({
  now,
  before,
  isComparable,
}: {
  now: Summary;
  before: Summary | undefined;
  isComparable: boolean;
}) {
  const savings = useApi('listSavings');
  const best = Math.max(0, ...(savings.data ?? []).map((finding) => finding.savings_microdollars));
  const tokens = now.total_tokens_input + now.total_tokens_output;
  const errorShare = now.total_requests === 0 ? 0 : now.total_errors / now.total_requests;
  const cacheShare = now.total_tokens_input === 0 ? 0 : now.total_tokens_cached / now.total_tokens_input;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line shadow-card md:grid-cols-3 xl:grid-cols-6">
      <Stat
        label="Spend"
        below={
          <Change
            now={now.total_cost_microdollars}
            before={before?.total_cost_microdollars}
            isComparable={isComparable}
            goodDown
          />
        }
      >
        <Money microdollars={now.total_cost_microdollars} />
      </Stat>
      <Stat
        label="Requests"
        below={
          <Change now={now.total_requests} before={before?.total_requests} isComparable={isComparable} />
        }
      >
        {formatCompact(now.total_requests)}
      </Stat>
      <Stat label="Error rate" below={`${formatCount(now.total_errors)} answered ≥ 400`}>
        {formatPercent(errorShare)}
      </Stat>
      <Stat label="Average latency" below="to the last byte">
        {formatMs(now.average_latency_ms)}
      </Stat>
      <Stat label="Tokens" below={`${formatPercent(cacheShare, 0)} of input from cache`}>
        {formatCompact(tokens)}
      </Stat>
      <Stat
        label="Largest saving found"
        below={
          <Link to="/savings" className="text-accent underline-offset-2 hover:underline">
            {savings.data?.length ?? 0} findings
          </Link>
        }
      >
        {savings.data ? formatMoney(best) : '…'}
      </Stat>
    </dl>
  );
}

function OpenAlerts() {
  const alerts = useApi('listAlerts', { query: { acknowledged: false, limit: SHOWN_ALERTS } }, REFRESH);
  return (
    <Card
      title="Open alerts"
      actions={
        <ButtonLink small look="quiet" to="/alerts">
          All alerts
        </ButtonLink>
      }
    >
      <Loaded query={alerts}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="Nothing needs you">
              Budgets, anomalies and price changes report here.
            </EmptyState>
          ) : (
            <ul>
              {data.map((alert) => (
                <li
                  key={alert.id}
                  className="flex items-start gap-3 border-b border-line px-4 py-2.5 last:border-0"
                >
                  <span className="w-16 shrink-0">
                    <SeverityBadge severity={alert.severity} />
                  </span>
                  <span className="line-clamp-3 min-w-0 flex-1 text-[13px]">{alert.title}</span>
                  <span className="text-[13px] text-muted">
                    <Age at={alert.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

interface TopRow {
  key: string;
  name: ReactNode;
  microdollars: number;
  requests: number;
}

function TopList({
  title,
  group,
  rows,
}: {
  title: string;
  group: string;
  rows: readonly TopRow[] | undefined;
}) {
  const [state] = useUrlState();
  const whole = rows?.[0]?.microdollars ?? 0;
  return (
    <Card
      title={title}
      actions={
        <ButtonLink
          small
          look="quiet"
          to="/explore"
          search={{ ...(keepRange(state) as Record<string, string>), group }}
        >
          Explore
        </ButtonLink>
      }
    >
      {rows === undefined ? (
        <Skeleton className="m-4 h-40" />
      ) : rows.length === 0 ? (
        <EmptyState title="No spend in this range" />
      ) : (
        <ol className="px-4 py-2">
          {rows.map((row) => (
            <li key={row.key} className="py-1.5">
              <span className="flex items-baseline justify-between gap-3">
                <span className="min-w-0 truncate">{row.name}</span>
                <span className="numeric">
                  <span className="mr-3 text-[13px] text-muted">{formatCompact(row.requests)} req</span>
                  <Money microdollars={row.microdollars} />
                </span>
              </span>
              <Share part={row.microdollars} whole={whole} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function useTop(range: ChosenRange) {
  return { query: { from: range.from, to: range.to, limit: TOP_ROWS } };
}

function TopModels({ range }: { range: ChosenRange }) {
  const models = useApi('getUsageByModel', useTop(range), REFRESH);
  const rows = models.data?.data.map((row) => ({
    key: row.model_id,
    name: row.model_id,
    microdollars: row.cost_microdollars,
    requests: row.requests,
  }));
  return <TopList title="Top models" group="model" rows={rows} />;
}

function TopTeams({ range }: { range: ChosenRange }) {
  const teams = useApi('getUsageByTeam', useTop(range), REFRESH);
  const rows = teams.data?.data.map((row) => ({
    key: row.team_id ?? 'none',
    name: row.team_name ?? <span className="text-muted">no team</span>,
    microdollars: row.cost_microdollars,
    requests: row.requests,
  }));
  return <TopList title="Top teams" group="team" rows={rows} />;
}

function TopServices({ range }: { range: ChosenRange }) {
  const services = useApi('getUsageByService', useTop(range), REFRESH);
  const rows = services.data?.data.map((row) => ({
    key: row.service_name ?? 'none',
    name: row.service_name ?? <span className="text-muted">no service</span>,
    microdollars: row.cost_microdollars,
    requests: row.requests,
  }));
  return <TopList title="Top services" group="service" rows={rows} />;
}
