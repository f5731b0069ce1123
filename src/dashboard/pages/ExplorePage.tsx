import { Link } from '@tanstack/react-router';
import { type RowOf, useApi } from '../api.ts';
import { Share } from '../charts/Share.tsx';
import { SpendChart } from '../charts/SpendChart.tsx';
import { formatCount } from '../numbers.ts';
import { Button, ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { RangePicker } from '../ui/RangePicker.tsx';
import { Skeleton } from '../ui/Skeleton.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { keepRange, type UrlState, usePaging, useRange, useUrlState, withoutEmpty } from '../url-state.ts';
import { PersonCard } from './PersonCard.tsx';

const GROUPS = {
  model: { label: 'Model', operation: 'getUsageByModel' },
  team: { label: 'Team', operation: 'getUsageByTeam' },
  service: { label: 'Service', operation: 'getUsageByService' },
  user: { label: 'User', operation: 'getUsageByUser' },
  customer: { label: 'End customer', operation: 'getUsageByEndCustomer' },
} as const;
type Group = keyof typeof GROUPS;
type AnyRow = RowOf<(typeof GROUPS)[Group]['operation']>;

/** A row of any grouping: what it is called and where its own requests are. */
interface GroupRow {
  key: string;
  name: string | null;
  /** Filters of the request log that hold this row's requests. */
  filter: UrlState;
  figures: AnyRow;
}

function groupRow(row: AnyRow): GroupRow {
  if ('model_id' in row)
    return { key: row.model_id, name: row.model_id, filter: { model: row.model_id }, figures: row };
  if ('team_id' in row) {
    return {
      key: row.team_id ?? '',
      name: row.team_name ?? (row.team_id && 'deleted team'),
      filter: row.team_id ? { team_id: row.team_id } : {},
      figures: row,
    };
  }
  if ('service_name' in row) {
    return {
      key: row.service_name ?? '',
      name: row.service_name,
      filter: row.service_name ? { service: row.service_name } : {},
      figures: row,
    };
  }
  if ('user' in row) return { key: row.user, name: row.user, filter: { user: row.user }, figures: row };
  const { end_customer } = row;
  return { key: end_customer, name: end_customer, filter: { end_customer }, figures: row };
}

export function ExplorePage() {
  const [state] = useUrlState();
  const range = useRange();
  const group: Group = state.group && state.group in GROUPS ? (state.group as Group) : 'model';
  const filter = withoutEmpty({
    model: state.model,
    team_id: state.team_id,
    service: state.service,
  }) as Record<string, string>;
  const { limit, offset } = usePaging();
  const rows = useApi(
    GROUPS[group].operation,
    { query: { from: range.from, to: range.to, ...filter, limit, offset } },
    { placeholderData: (before) => before },
  );
  const summary = useApi('getUsageSummary', { query: { from: range.from, to: range.to, ...filter } });
  return (
    <Page
      title="Explore"
      note="Where the money goes. Open a row to see the requests behind it."
      actions={<RangePicker />}
    >
      <ActiveFilters filter={filter} />
      <Card title="Spend by model" note="UTC days">
        <Loaded query={summary} skeleton={<Skeleton className="m-4 h-72" />}>
          {(now) => (
            <SpendChart
              range={range}
              filter={filter}
              models={now.top_models.map(({ model_id }) => model_id)}
            />
          )}
        </Loaded>
      </Card>
      {state.person && (group === 'user' || group === 'customer') && (
        <PersonCard group={group} name={state.person} range={range} />
      )}
      <Card>
        <Tabs
          label="Group by"
          name="group"
          current={group}
          tabs={Object.entries(GROUPS).map(([id, { label }]) => ({ id: id as Group, label }))}
        />
        <Loaded query={rows}>
          {(data) => (
            <>
              <GroupTable
                group={group}
                rows={data.data.map(groupRow)}
                whole={summary.data?.total_cost_microdollars ?? 0}
              />
              <Pager total={data.total} limit={limit} offset={offset} />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function ActiveFilters({ filter }: { filter: Record<string, string> }) {
  const [, set] = useUrlState();
  const entries = Object.entries(filter);
  if (entries.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {entries.map(([name, value]) => (
        <Button
          key={name}
          small
          onClick={() => set({ [name]: undefined })}
          aria-label={`Remove the filter ${name} ${value}`}
        >
          {name.replace('_id', '')}: {value} ✕
        </Button>
      ))}
    </div>
  );
}

function GroupTable({ group, rows, whole }: { group: Group; rows: readonly GroupRow[]; whole: number }) {
  const [state] = useUrlState();
  const range = keepRange(state);
  const columns: Column<GroupRow>[] = [
    {
      head: GROUPS[group].label,
      cell: (row) => (
        <Link
          to="/requests"
          search={{ ...range, ...row.filter } as never}
          className="block min-w-32 max-w-sm text-accent underline-offset-2 hover:underline [overflow-wrap:anywhere]"
        >
          {row.name ?? `no ${GROUPS[group].label.toLowerCase()}`}
          <Share part={row.figures.cost_microdollars} whole={whole} />
        </Link>
      ),
    },
    { head: 'Requests', numeric: true, cell: (row) => formatCount(row.figures.requests) },
    { head: 'Input tokens', from: 'md', numeric: true, cell: (row) => formatCount(row.figures.tokens_input) },
    {
      head: 'Output tokens',
      from: 'md',
      numeric: true,
      cell: (row) => formatCount(row.figures.tokens_output),
    },
    {
      head: 'Per request',
      from: 'sm',
      numeric: true,
      cell: ({ figures }) => (
        <Money
          microdollars={figures.requests === 0 ? 0 : Math.round(figures.cost_microdollars / figures.requests)}
        />
      ),
    },
    { head: 'Spend', numeric: true, cell: (row) => <Money microdollars={row.figures.cost_microdollars} /> },
    ...(group === 'user' || group === 'customer' ? [overTime(group, range)] : []),
  ];
  return (
    <Table
      label={`Spend by ${GROUPS[group].label.toLowerCase()}`}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.key}
      empty={
        <EmptyState
          title="No spend in this range"
          action={<ButtonLink to="/connect">Connect a client</ButtonLink>}
        >
          {group === 'model'
            ? 'Widen the range, or send a call.'
            : `Calls say their ${GROUPS[group].label.toLowerCase()} in an X-Gateway header; see Connect.`}
        </EmptyState>
      }
    />
  );
}

/** The way to the chart and the models of one user or customer. */
function overTime(group: Group, range: UrlState): Column<GroupRow> {
  return {
    head: 'Over time',
    cell: (row) => (
      <Link
        to="/explore"
        search={{ ...range, group, person: row.key } as never}
        aria-label={`Chart of ${row.key} over time`}
        className="text-accent underline-offset-2 hover:underline"
      >
        Chart
      </Link>
    ),
  };
}
