import { useState } from 'react';
import { downloadCsv, type RowOf, useApi } from '../api.ts';
import { AuditDetails } from '../ui/AuditDetails.tsx';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { FilterSelect, FilterText } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { RangePicker } from '../ui/RangePicker.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { showToast } from '../ui/Toast.tsx';
import { usePaging, useRange, useUrlState } from '../url-state.ts';

type Entry = RowOf<'listAudit'>;

const ACTORS = ['user', 'operator', 'system'];

export function AuditPage() {
  const { from, to } = useRange();
  const [{ actor, action }] = useUrlState();
  const { limit, offset } = usePaging();
  const filters = { from, to, ...(actor && { actor_type: actor }), ...(action && { action }) };
  const entries = useApi(
    'listAudit',
    { query: { ...filters, limit, offset } },
    { placeholderData: (before) => before },
  );
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      await downloadCsv('listAudit', { query: filters });
    } catch (error) {
      showToast((error as Error).message, 'bad');
    }
    setBusy(false);
  };
  return (
    <Page
      title="Audit"
      note="Who did what, when and from where. Written in the same transaction as the change itself."
      actions={
        <>
          <FilterText
            label="Action"
            name="action"
            placeholder="Action, e.g. api_key.created"
            className="w-56"
          />
          <FilterSelect label="Actor" name="actor" any="Any actor" choices={ACTORS} />
          <RangePicker />
          <Button busy={busy} onClick={save}>
            Download CSV
          </Button>
        </>
      }
    >
      <Card>
        <Loaded query={entries}>
          {(data) => (
            <>
              <EntryTable rows={data.data} />
              <Pager {...data} />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function EntryTable({ rows }: { rows: readonly Entry[] }) {
  const columns: Column<Entry>[] = [
    { head: 'Time', cell: (row) => <Time at={row.created_at} shape="second" /> },
    { head: 'Action', cell: (row) => <code className="font-mono">{row.action}</code> },
    {
      head: 'By',
      cell: (row) => (
        <span className="whitespace-nowrap">
          <Badge>{row.actor_type}</Badge> <span className="max-sm:hidden">{row.actor_id}</span>
        </span>
      ),
    },
    {
      head: 'From',
      from: 'lg',
      cell: (row) => <span className="text-muted tabular-nums">{row.ip_address ?? '–'}</span>,
    },
    {
      head: 'On',
      from: 'lg',
      cell: (row) =>
        row.resource_type ? (
          <span className="whitespace-nowrap text-muted" title={row.resource_id ?? undefined}>
            {row.resource_type.replaceAll('_', ' ')}
          </span>
        ) : (
          '–'
        ),
    },
    { head: 'Details', from: 'md', cell: (row) => <AuditDetails details={row.details} /> },
  ];
  return (
    <Table
      label="Audit entries"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={<EmptyState title="No entries match">Widen the range or clear a filter.</EmptyState>}
    />
  );
}
