import type { Output } from '../api.ts';
import { formatCount, formatMs } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card, Facts } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age } from '../ui/Time.tsx';
import { useOperator, useOperatorAction } from './client.tsx';

type Health = Output<'getPlatformHealth'>;
type Job = Health['jobs'][number];
type Queue = Health['queues'][number];

export function OperatorHealth() {
  const health = useOperator('getPlatformHealth', undefined, { refetchInterval: 5_000 });
  return (
    <Loaded query={health}>
      {(data) => (
        <>
          <Card
            title="State"
            actions={<Badge tone={data.status === 'ok' ? 'good' : 'bad'}>{data.status}</Badge>}
          >
            {data.problems.length > 0 && (
              <ul className="list-disc px-8 py-3 text-bad">
                {data.problems.map((problem) => (
                  <li key={problem}>{problem}</li>
                ))}
              </ul>
            )}
            <Facts rows={stateRows(data)} />
          </Card>
          <Jobs rows={data.jobs} />
          <Queues rows={data.queues} />
          <TestMail />
        </>
      )}
    </Loaded>
  );
}

function journalWords(journal: NonNullable<NonNullable<Health['node']>['journal']>): string {
  const size = `${formatCount(journal.bytes)} of ${formatCount(journal.max_bytes)} bytes`;
  return `${size}, ${formatCount(journal.records_pending)} records to ingest`;
}

function stateRows(data: Health): Array<readonly [string, React.ReactNode]> {
  const { node } = data;
  return [
    ['Version', data.version],
    ...Object.entries(data.pools).map(
      ([name, pool]) =>
        [`Connections, ${name}`, `${pool.total} open, ${pool.idle} idle, ${pool.waiting} waiting`] as const,
    ),
    ['Requests in flight', node?.requests_in_flight ?? '–'],
    ['Journal', node?.journal ? journalWords(node.journal) : '–'],
    [
      'Ingest',
      node?.ingest
        ? node.ingest.lag_ms === null
          ? 'up to date'
          : `${formatMs(Math.round(node.ingest.lag_ms))} behind`
        : '–',
    ],
    ['Nodes', data.nodes.map((one) => `${one.node_id.slice(0, 8)} ${one.role ?? ''}`).join(', ') || '–'],
  ];
}

function Jobs({ rows }: { rows: readonly Job[] }) {
  const run = useOperatorAction('runJob', ({ job }) => `${job} is queued.`);
  const columns: Column<Job>[] = [
    { head: 'Job', cell: (row) => <code className="font-mono">{row.name}</code> },
    {
      head: 'Schedule, UTC',
      from: 'md',
      cell: (row) => <code className="font-mono text-muted">{row.schedule}</code>,
    },
    { head: 'Last run', cell: (row) => <Age at={row.last_finished_at} /> },
    {
      head: 'Took',
      from: 'md',
      numeric: true,
      cell: (row) => (row.last_duration_ms === null ? '–' : formatMs(row.last_duration_ms)),
    },
    { head: 'Next', from: 'sm', cell: (row) => <Age at={row.next_run_at} never="–" /> },
    {
      head: 'State',
      cell: (row) =>
        row.last_error ? (
          <Badge tone="bad">{row.last_error}</Badge>
        ) : row.running ? (
          <Badge tone="accent">running</Badge>
        ) : (
          <Badge tone="good">good</Badge>
        ),
    },
    {
      head: 'Actions',
      hideHead: true,
      numeric: true,
      cell: (row) => (
        <Button
          small
          aria-label={`Run now: ${row.name}`}
          onClick={() => run.mutate({ params: { name: row.name } })}
        >
          Run now
        </Button>
      ),
    },
  ];
  return (
    <Card title="Background jobs" note="Each runs once across all nodes">
      <Table
        label="Background jobs"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.name}
        empty={<EmptyState title="No jobs are scheduled" />}
      />
    </Card>
  );
}

function Queues({ rows }: { rows: readonly Queue[] }) {
  const columns: Column<Queue>[] = [
    { head: 'Queue', cell: (row) => <code className="font-mono">{row.task}</code> },
    { head: 'Ready', numeric: true, cell: (row) => formatCount(row.ready) },
    { head: 'Running', numeric: true, cell: (row) => formatCount(row.running) },
    { head: 'Later', from: 'sm', numeric: true, cell: (row) => formatCount(row.scheduled) },
    { head: 'Retrying', from: 'sm', numeric: true, cell: (row) => formatCount(row.retrying) },
    { head: 'Given up', numeric: true, cell: (row) => formatCount(row.failed) },
    {
      head: 'Last error',
      from: 'md',
      cell: (row) => <span className="text-muted">{row.last_error ?? '–'}</span>,
    },
  ];
  return (
    <Card title="Queues">
      <Table
        label="Queues"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.task}
        empty={<EmptyState title="The queues are empty" />}
      />
    </Card>
  );
}

function TestMail() {
  const send = useOperatorAction('sendTestEmail', ({ to, via }) =>
    via === 'smtp' ? `Sent to ${to}.` : `Written to the outbox folder for ${to}.`,
  );
  return (
    <Card title="Test mail">
      <form
        className="flex flex-wrap items-end gap-3 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate({ body: { to: formTexts(event.currentTarget).to ?? '' } });
        }}
      >
        <Field label="To" name="to" type="email" required />
        <Button type="submit" busy={send.isPending}>
          Send test mail
        </Button>
      </form>
    </Card>
  );
}
