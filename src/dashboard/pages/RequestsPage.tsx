import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { MAX_EXPORT_ROWS } from '../../contract/usage.ts';
import { downloadCsv, type RowOf, useApi } from '../api.ts';
import { formatCount, formatMs } from '../numbers.ts';
import { Badge, StatusBadge } from '../ui/Badge.tsx';
import { Button, ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { FilterSelect, FilterText } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { RangePicker } from '../ui/RangePicker.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { showToast } from '../ui/Toast.tsx';
import { usePaging, useRange, useUrlState } from '../url-state.ts';
import { useTeamNames } from './budget-words.ts';

type Row = RowOf<'listRequests'>;

const REFRESH_MS = 5_000;
const STATUSES = ['200', '400', '401', '429', '451', '499', '500', '502', '503'];

const FILTERS = ['model', 'service', 'user', 'end_customer', 'team_id', 'status'];

/** What the address asks for, in the API's terms. */
function useFilters() {
  const range = useRange();
  const [{ model, team_id, service, user, end_customer, status }] = useUrlState();
  return {
    from: range.from,
    to: range.to,
    ...(model && { model }),
    ...(team_id && { team_id }),
    ...(service && { service }),
    ...(user && { user }),
    ...(end_customer && { end_customer }),
    ...(status && /^\d{3}$/.test(status) && { status: Number(status) }),
  };
}

export function RequestsPage() {
  const filters = useFilters();
  const { limit, offset, page } = usePaging();
  const requests = useApi(
    'listRequests',
    { query: { ...filters, limit, offset } },
    { placeholderData: (before) => before, ...(page === 1 && { refetchInterval: REFRESH_MS }) },
  );
  return (
    <Page
      title="Requests"
      note="Every call that came in, newest first. The first page follows by itself."
      actions={
        <>
          <RangePicker />
          <CsvButton filters={filters} />
        </>
      }
    >
      <Filters />
      <Card>
        <Loaded query={requests}>
          {(data) => (
            <div aria-busy={requests.isPlaceholderData}>
              <RequestTable rows={data.data} />
              <Pager {...data} />
            </div>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function CsvButton({ filters }: { filters: ReturnType<typeof useFilters> }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      await downloadCsv('listRequests', { query: filters });
    } catch (error) {
      showToast((error as Error).message, 'bad');
    }
    setBusy(false);
  };
  return (
    <Button
      busy={busy}
      onClick={save}
      title={`With the filters on screen, the newest ${formatCount(MAX_EXPORT_ROWS)} rows`}
    >
      Download CSV
    </Button>
  );
}

function Filters() {
  const [state, set] = useUrlState();
  const teams = useApi('listTeams');
  const isFiltered = FILTERS.some((name) => state[name]);
  return (
    <search className="flex flex-wrap items-center gap-2">
      <FilterText label="Model" name="model" className="w-44" />
      <FilterText label="Service" name="service" />
      <FilterText label="User" name="user" />
      <FilterText label="End customer" name="end_customer" />
      <FilterSelect
        label="Team"
        name="team_id"
        any="All teams"
        choices={(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
      />
      <FilterSelect label="Status" name="status" any="Any status" choices={STATUSES} />
      {isFiltered && (
        <Button
          small
          look="quiet"
          onClick={() => set(Object.fromEntries([...FILTERS, 'page'].map((name) => [name, undefined])))}
        >
          Clear filters
        </Button>
      )}
    </search>
  );
}

function RequestTable({ rows }: { rows: readonly Row[] }) {
  const teamNames = useTeamNames();
  const columns: Column<Row>[] = [
    {
      head: 'Time',
      cell: (row) => (
        <Link
          to="/requests/$id"
          params={{ id: row.id }}
          className="text-accent underline-offset-2 hover:underline"
        >
          <Time at={row.created_at} shape="second" />
        </Link>
      ),
    },
    { head: 'Model', cell: (row) => row.model_id ?? <span className="text-muted">none</span> },
    { head: 'Status', cell: (row) => <StatusBadge status={row.status_code} /> },
    {
      head: 'Team',
      from: 'lg',
      cell: (row) =>
        row.team_id ? (teamNames.get(row.team_id) ?? 'deleted team') : <span className="text-faint">–</span>,
    },
    { head: 'Service', from: 'md', cell: (row) => row.service_name ?? <span className="text-faint">–</span> },
    { head: 'Input', from: 'md', numeric: true, cell: (row) => formatCount(row.tokens_input) },
    { head: 'Output', from: 'md', numeric: true, cell: (row) => formatCount(row.tokens_output) },
    { head: 'Latency', from: 'sm', numeric: true, cell: (row) => formatMs(row.latency_total_ms) },
    {
      head: 'Cost',
      numeric: true,
      cell: (row) =>
        row.cost_status === 'unpriced' ? (
          <Badge tone="warn">unpriced</Badge>
        ) : (
          <Money microdollars={row.cost_microdollars} exact />
        ),
    },
  ];
  return (
    <Table
      label="Requests"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={
        <EmptyState
          title="No requests match"
          action={<ButtonLink to="/connect">Connect a client</ButtonLink>}
        >
          Nothing came in with these filters in this range. Widen the range, clear a filter, or send a call.
        </EmptyState>
      }
    />
  );
}
