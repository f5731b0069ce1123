import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ask, downloadCsv, type RowOf, useApi } from '../api.ts';
import { formatCount } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { CodeBlock } from '../ui/Copy.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { RangePicker } from '../ui/RangePicker.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { showToast } from '../ui/Toast.tsx';
import { usePaging, useRange, useUrlState } from '../url-state.ts';

type LedgerRecord = RowOf<'listLedger'>;

/** So many records are checked per call: small enough to show progress, large enough not to be slow. */
const VERIFY_STEP = 20_000;

export function LedgerPage() {
  const { from, to } = useRange();
  const [state] = useUrlState();
  // The whole chain unless a range is chosen: its length is known without counting.
  const days = state.range ? { from, to } : {};
  const { limit, offset } = usePaging();
  const records = useApi(
    'listLedger',
    { query: { ...days, limit, offset } },
    { placeholderData: (before) => before, refetchInterval: 10_000 },
  );
  const [exporting, setExporting] = useState(false);
  const save = async () => {
    setExporting(true);
    try {
      await downloadCsv('listLedger', { query: days });
    } catch (error) {
      showToast((error as Error).message, 'bad');
    }
    setExporting(false);
  };
  return (
    <Page
      title="Ledger"
      note="What reached a provider, chained: each record’s hash covers the one before it, so nothing can be changed, removed or slipped in unseen."
      actions={
        <>
          <RangePicker everything="All records" />
          <Button busy={exporting} onClick={save}>
            Export CSV
          </Button>
        </>
      }
    >
      <Verify />
      <Card title="Records">
        <Loaded query={records}>
          {(data) => (
            <>
              <RecordTable rows={data.data} />
              <Pager {...data} />
            </>
          )}
        </Loaded>
      </Card>
      <Offline />
    </Page>
  );
}

type Verdict =
  | { kind: 'idle' }
  | { kind: 'checking'; checked: number; total: number }
  | { kind: 'good'; checked: number }
  | { kind: 'broken'; sequence: number; reason: string }
  | { kind: 'failed'; message: string };

/** Step by step over the whole chain: each step also checks that it joins the one before. */
async function verifyChain(show: (verdict: Verdict) => void, isStopped: () => boolean): Promise<void> {
  const newest = await ask('listLedger', { query: { limit: 1 } });
  const total = newest.data[0]?.sequence_number ?? 0;
  let checked = 0;
  for (let from = 1; from <= total && !isStopped(); from += VERIFY_STEP) {
    show({ kind: 'checking', checked, total });
    const last = from + VERIFY_STEP - 1;
    // The last step has no end: it runs to the newest record, where a cut tail would show.
    const query = { from_seq: from, ...(last < total && { to_seq: last }) };
    const step = await ask('verifyLedger', { query });
    if (!step.valid)
      return show({
        kind: 'broken',
        sequence: step.first_invalid_sequence ?? from,
        reason: step.reason ?? '',
      });
    checked += step.records_checked;
  }
  if (!isStopped()) show({ kind: 'good', checked });
}

function Verify() {
  const [verdict, setVerdict] = useState<Verdict>({ kind: 'idle' });
  const run = useRef(0);
  const start = () => {
    const own = ++run.current;
    setVerdict({ kind: 'checking', checked: 0, total: 0 });
    verifyChain(
      (next) => run.current === own && setVerdict(next),
      () => run.current !== own,
    ).catch((error: Error) => setVerdict({ kind: 'failed', message: error.message }));
  };
  return (
    <Card
      title="Does the chain hold?"
      note="Every hash and signature is derived again from the records themselves"
      actions={
        <Button look="primary" busy={verdict.kind === 'checking'} onClick={start}>
          Verify ledger
        </Button>
      }
    >
      <div role="status" className="px-4 py-3">
        <VerdictLine verdict={verdict} />
      </div>
    </Card>
  );
}

function VerdictLine({ verdict }: { verdict: Verdict }) {
  switch (verdict.kind) {
    case 'idle':
      return <p className="text-muted">Not checked since you opened this page.</p>;
    case 'checking':
      return (
        <div className="flex items-center gap-3">
          <progress
            aria-label="Records checked"
            className="h-2 flex-1 accent-accent-strong"
            max={Math.max(1, verdict.total)}
            value={verdict.checked}
          />
          <span className="text-muted tabular-nums">
            {formatCount(verdict.checked)} of {formatCount(verdict.total)}
          </span>
        </div>
      );
    case 'good':
      return (
        <p className="font-medium text-good">
          {verdict.checked === 0
            ? 'The ledger is empty, so there is nothing to break.'
            : `The chain holds: ${formatCount(verdict.checked)} records checked.`}
        </p>
      );
    case 'broken':
      return (
        <p className="font-medium text-bad">
          The chain breaks at record {formatCount(verdict.sequence)}. {verdict.reason}
        </p>
      );
    case 'failed':
      return <p className="text-bad">{verdict.message}</p>;
  }
}

function RecordTable({ rows }: { rows: readonly LedgerRecord[] }) {
  const columns: Column<LedgerRecord>[] = [
    { head: 'No.', numeric: true, cell: (row) => formatCount(row.sequence_number) },
    {
      head: 'Time',
      cell: (row) => (
        <Link
          to="/requests/$id"
          params={{ id: row.request_id }}
          className="text-accent underline-offset-2 hover:underline"
        >
          <Time at={row.created_at} shape="second" />
        </Link>
      ),
    },
    { head: 'Model', cell: (row) => row.model_id },
    { head: 'Path', from: 'lg', cell: (row) => <span className="text-muted">{row.hierarchy_path}</span> },
    {
      head: 'Kind',
      from: 'md',
      cell: (row) => <Badge tone={row.kind === 'request' ? 'neutral' : 'accent'}>{row.kind}</Badge>,
    },
    {
      head: 'Hash',
      from: 'sm',
      cell: (row) => (
        <code className="font-mono text-muted" title={row.record_hash}>
          {row.record_hash.slice(0, 16)}…
        </code>
      ),
    },
    { head: 'Cost', numeric: true, cell: (row) => <Money microdollars={row.cost_microdollars} exact /> },
  ];
  return (
    <Table
      label="Ledger records"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={
        <EmptyState title="No records here yet">
          The first call that reaches a provider writes record 1.
        </EmptyState>
      }
    />
  );
}

function Offline() {
  return (
    <Card title="Check it offline" note="The export alone is enough: no server, no secret">
      <div className="flex flex-col gap-3 p-4">
        <CodeBlock
          label="How to verify an export"
          code={'gw ledger export -o ledger.csv\ngw ledger verify --file ledger.csv'}
        />
        <p className="text-muted">
          Each row carries <code>previous_hash</code> and <code>record_hash</code>, the SHA-256 of the
          record’s own fields in canonical JSON (RFC 8785) and the hash before it. Export from the first day
          to check from record 1. <code>hmac_signature</code> shows that this deployment wrote it.
        </p>
      </div>
    </Card>
  );
}
