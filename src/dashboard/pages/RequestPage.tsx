import { Link, useParams } from '@tanstack/react-router';
import { PROVIDER_LABELS, type Provider } from '../../contract/providers.ts';
import { type Output, useApi } from '../api.ts';
import { formatCount, formatMs } from '../numbers.ts';
import { Badge, StatusBadge } from '../ui/Badge.tsx';
import { Card, Facts } from '../ui/Card.tsx';
import { CopyButton } from '../ui/Copy.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { useTeamNames } from './budget-words.ts';

type Detail = Output<'getRequest'>;
type Charge = Detail['cost_breakdown'][number];

/** What a rate is for; the API names the unit of the quantity. */
const RATE_UNITS: Record<string, string> = {
  tokens: 'per million',
  calls: 'per call',
  seconds: 'per second',
};

const NONE = <span className="text-faint">–</span>;

export function RequestPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const request = useApi('getRequest', { params: { id } });
  return (
    <Page title="Request" note={<span className="font-mono text-[13px]">{id}</span>}>
      <Loaded query={request}>
        {(detail) => (
          <>
            <Charges detail={detail} />
            <div className="grid gap-4 lg:grid-cols-2">
              <Exchange detail={detail} />
              <Attribution detail={detail} />
            </div>
            <LedgerPlace detail={detail} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Charges({ detail }: { detail: Detail }) {
  const columns: Column<Charge>[] = [
    { head: 'Bucket', cell: (row) => row.bucket.replaceAll('_', ' ') },
    { head: 'Quantity', numeric: true, cell: (row) => `${formatCount(row.quantity)} ${row.unit}` },
    { head: 'Rate', numeric: true, cell: (row) => `× $${row.rate_usd} ${RATE_UNITS[row.unit] ?? ''}` },
    { head: 'Cost', numeric: true, cell: (row) => `= $${row.cost_usd}` },
  ];
  return (
    <Card
      title="What it cost"
      note="Token buckets are disjoint: each token is charged once, in one of them"
      actions={
        <span className="text-lg font-semibold">
          <Money microdollars={detail.cost_microdollars} exact />
        </span>
      }
    >
      <Table
        label="Cost by token bucket"
        columns={columns}
        rows={detail.cost_breakdown}
        rowKey={(row) => `${row.bucket} ${row.rate_usd}`}
        empty={
          <EmptyState title={WHY_NO_CHARGE[detail.cost_status]}>
            {detail.refusal && `The gateway answered ${detail.refusal}; no provider was called.`}
          </EmptyState>
        }
      />
    </Card>
  );
}

const WHY_NO_CHARGE: Record<Detail['cost_status'], string> = {
  priced: 'Nothing to charge',
  free: 'This call is free',
  unpriced:
    'No price is known for this model; it will be charged by a correcting ledger record once there is one',
};

function Exchange({ detail }: { detail: Detail }) {
  return (
    <Card title="Exchange">
      <Facts
        rows={[
          ['Time', <Time key="time" at={detail.created_at} shape="full" />],
          ['Status', <StatusBadge key="status" status={detail.status_code} />],
          [
            'Provider',
            `${PROVIDER_LABELS[detail.provider as Provider] ?? detail.provider} (${detail.provider})`,
          ],
          ['Model asked for', detail.model_requested ?? NONE],
          ['Model served', detail.model_id ?? NONE],
          [
            'Endpoint',
            <code key="endpoint" className="font-mono text-[13px]">
              {detail.method} {detail.endpoint}
            </code>,
          ],
          ['Tokens', `${formatCount(detail.tokens_input)} in, ${formatCount(detail.tokens_output)} out`],
          [
            'Latency',
            `${formatMs(detail.latency_total_ms)}${detail.latency_first_byte_ms === null ? '' : `, first byte after ${formatMs(detail.latency_first_byte_ms)}`}`,
          ],
          ['Streamed', detail.stream ? 'yes' : 'no'],
          ['Usage from', <UsageSource key="usage" detail={detail} />],
          ['Service tier', detail.service_tier ?? NONE],
        ]}
      />
    </Card>
  );
}

function UsageSource({ detail }: { detail: Detail }) {
  return (
    <span className="flex flex-wrap gap-1.5">
      <Badge tone={detail.usage_source === 'provider' ? 'good' : 'warn'}>{detail.usage_source}</Badge>
      {detail.interrupted && <Badge tone="warn">interrupted</Badge>}
      {detail.anomalies.map((anomaly) => (
        <Badge key={anomaly} tone="warn">
          {anomaly.replaceAll('_', ' ')}
        </Badge>
      ))}
    </span>
  );
}

function Attribution({ detail }: { detail: Detail }) {
  const teamNames = useTeamNames();
  const tags = Object.entries(detail.tags);
  return (
    <Card title="Attribution">
      <Facts
        rows={[
          ['Team', detail.team_id ? (teamNames.get(detail.team_id) ?? detail.team_id) : NONE],
          ['Service', detail.service_name ?? NONE],
          ['Agent', detail.agent ?? NONE],
          ['User', detail.user ?? NONE],
          ['End customer', detail.end_customer ?? NONE],
          ['Environment', detail.environment],
          [
            'Gateway key',
            <code key="key" className="font-mono text-[13px]">
              {detail.api_key_id}
            </code>,
          ],
          [
            'Tags',
            tags.length === 0 ? (
              NONE
            ) : (
              <span key="tags" className="flex flex-wrap gap-1.5">
                {tags.map(([name, value]) => (
                  <Badge key={name}>
                    {name}={value}
                  </Badge>
                ))}
              </span>
            ),
          ],
          ...Object.entries(detail.headers).map(([name, value]) => [name, value] as const),
        ]}
      />
    </Card>
  );
}

function LedgerPlace({ detail }: { detail: Detail }) {
  return (
    <Card title="Place in the ledger">
      {detail.sequence_number === null ? (
        <EmptyState title="Not in the ledger">
          {detail.refusal
            ? 'The ledger holds what reached a provider, and this call was refused before.'
            : 'It is being written; look again in a moment.'}
        </EmptyState>
      ) : (
        <Facts
          rows={[
            ['Record', `no. ${formatCount(detail.sequence_number)}`],
            [
              'Hash',
              <span key="hash" className="flex flex-wrap items-center gap-2">
                <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{detail.record_hash}</code>
                <CopyButton text={detail.record_hash ?? ''} />
              </span>,
            ],
            [
              'Check it',
              <Link key="check" to="/ledger" className="text-accent underline-offset-2 hover:underline">
                Verify the chain, or take it home and verify it there
              </Link>,
            ],
          ]}
        />
      )}
    </Card>
  );
}
