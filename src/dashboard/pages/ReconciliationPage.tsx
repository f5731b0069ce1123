import { useNavigate, useParams } from '@tanstack/react-router';
import { PROVIDER_LABELS } from '../../contract/providers.ts';
import { type Output, useAction, useApi } from '../api.ts';
import { formatCount, formatPercent } from '../numbers.ts';
import { Badge, type Tone } from '../ui/Badge.tsx';
import { Card, Stat } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Usd } from './ReconciliationsPage.tsx';

type Detail = Output<'getReconciliation'>;
type ModelRow = Detail['models'][number];

const STATUSES: Record<ModelRow['status'], { tone: Tone; text: string }> = {
  matched: { tone: 'good', text: 'on both' },
  only_invoice: { tone: 'bad', text: 'billed, never seen here' },
  only_ledger: { tone: 'warn', text: 'metered, not billed' },
};

export function ReconciliationPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const run = useApi('getReconciliation', { params: { id } });
  const navigate = useNavigate();
  const remove = useAction('deleteReconciliation', { refreshes: ['listReconciliations'], done: 'Deleted.' });
  const title = run.data
    ? `${PROVIDER_LABELS[run.data.provider]} ${run.data.invoice_month}`
    : 'Reconciliation';
  return (
    <Page
      title={title}
      note={run.data && `${run.data.file_name ?? 'A file'}, read as ${run.data.layout}.`}
      actions={
        <ConfirmButton
          label="Delete"
          title="Delete this comparison?"
          confirm="Delete"
          onConfirm={() =>
            remove.mutateAsync({ params: { id } }).then(() => navigate({ to: '/reconciliation' }))
          }
        >
          The ledger is not touched; the file can be compared again at any time.
        </ConfirmButton>
      }
    >
      <Loaded query={run}>
        {(detail) => (
          <>
            <Totals detail={detail} />
            <Models rows={detail.models} />
            {detail.unmatched.length > 0 && <Unmatched rows={detail.unmatched} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Totals({ detail }: { detail: Detail }) {
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line shadow-card md:grid-cols-4">
      <Stat label="Billed" below={`${formatCount(detail.matched_lines + detail.unmatched_lines)} lines`}>
        <Usd usd={detail.invoice_total_usd} />
      </Stat>
      <Stat label="Ledger" below="what passed the gateway">
        <Usd usd={detail.ledger_total_usd} />
      </Stat>
      <Stat label="Difference" below="billed minus ledger">
        <Usd usd={detail.delta_usd} />
      </Stat>
      <Stat
        label="Billed, never seen here"
        below={`${formatCount(detail.outside_month_lines)} lines outside the month, ${formatCount(detail.left_out_lines)} of other services`}
      >
        {formatCount(detail.shadow_ai_count)}
      </Stat>
    </dl>
  );
}

function Models({ rows }: { rows: readonly ModelRow[] }) {
  const columns: Column<ModelRow>[] = [
    { head: 'Model', cell: (row) => <span className="font-medium">{row.model_id}</span> },
    {
      head: 'Status',
      cell: (row) => <Badge tone={STATUSES[row.status].tone}>{STATUSES[row.status].text}</Badge>,
    },
    { head: 'Lines', from: 'md', numeric: true, cell: (row) => formatCount(row.invoice_lines) },
    { head: 'Requests', from: 'md', numeric: true, cell: (row) => formatCount(row.requests) },
    { head: 'Billed', numeric: true, cell: (row) => <Usd usd={row.invoice_usd} /> },
    { head: 'Ledger', numeric: true, cell: (row) => <Usd usd={row.ledger_usd} /> },
    {
      head: 'Difference',
      numeric: true,
      cell: (row) => (
        <>
          <Usd usd={row.delta_usd} />{' '}
          <span className="text-muted">{row.delta_share === null ? '' : formatPercent(row.delta_share)}</span>
        </>
      ),
    },
  ];
  return (
    <Card title="By model" note="The largest difference first">
      <Table
        label="Difference by model"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.model_id}
        empty={<EmptyState title="The file names no model" />}
      />
    </Card>
  );
}

function Unmatched({ rows }: { rows: Detail['unmatched'] }) {
  return (
    <Card title="Lines that did not match" note="The dearest first">
      <Table
        label="Lines that did not match"
        rows={rows}
        rowKey={(row) => `${row.row} ${row.text}`}
        columns={[
          { head: 'Line', cell: (row) => <span className="[overflow-wrap:anywhere]">{row.text}</span> },
          { head: 'Row', from: 'sm', numeric: true, cell: (row) => formatCount(row.row) },
          {
            head: 'Why',
            cell: (row) => (row.reason === 'no_model' ? 'names no model' : 'not in the ledger'),
          },
          { head: 'Lines', from: 'sm', numeric: true, cell: (row) => formatCount(row.lines) },
          { head: 'Amount', numeric: true, cell: (row) => <Usd usd={row.amount_usd} /> },
        ]}
      />
    </Card>
  );
}
