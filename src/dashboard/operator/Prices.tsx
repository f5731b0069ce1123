import { useState } from 'react';
import { PROVIDER_LABELS } from '../../contract/providers.ts';
import type { RowOf } from '../api.ts';
import { formatCount, nameOfRate } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age, Time } from '../ui/Time.tsx';
import { AnnounceDialog } from './AnnounceDialog.tsx';
import { useOperator, useOperatorAction } from './client.tsx';
import { partAt } from './price-form.ts';

type Candidate = RowOf<'listPricingCandidates'>;
type Source = RowOf<'listPriceSources'>;

/** Prices the daily reading found, waiting for a person; and the changes that were announced. */
export function OperatorPrices() {
  const candidates = useOperator('listPricingCandidates');
  const scrape = useOperatorAction('runScraper', ({ message }) => message);
  return (
    <>
      <Card
        title="Prices to decide"
        note="What a source says and our price book does not"
        actions={
          <Button small busy={scrape.isPending} onClick={() => scrape.mutate({})}>
            Read the sources now
          </Button>
        }
      >
        <Loaded query={candidates}>
          {({ data }) =>
            data.length === 0 ? (
              <EmptyState title="Nothing to decide">The sources are read every day at 03:00 UTC.</EmptyState>
            ) : (
              <ul>
                {data.map((candidate) => (
                  <CandidateRow key={candidate.id} candidate={candidate} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      <Sources />
      <Announced />
    </>
  );
}

function CandidateRow({ candidate }: { candidate: Candidate }) {
  const approve = useOperatorAction('approvePricingCandidate', 'The price is in force.');
  const reject = useOperatorAction('rejectPricingCandidate', 'Turned down.');
  const params = { id: candidate.id };
  return (
    <li className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-4 py-3 last:border-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          {candidate.model_id}{' '}
          <span className="font-normal text-muted">{PROVIDER_LABELS[candidate.provider]}</span>
          {candidate.flags.map((flag) => (
            <Badge key={flag} tone="warn">
              {flag.replaceAll('_', ' ')}
            </Badge>
          ))}
        </p>
        <ul className="text-[13px] tabular-nums">
          {Object.entries(candidate.new_price).map(([field, value]) => (
            <li key={field}>
              <span className="text-muted">{nameOfRate(field)}</span>{' '}
              {String(partAt(candidate.old_price, field) ?? 'none')} → <strong>{value}</strong>{' '}
              {field.endsWith('_tokens') ? '' : candidate.currency}
            </li>
          ))}
        </ul>
        <p className="mt-1 text-[13px] text-muted [overflow-wrap:anywhere]">
          {candidate.source}: “{candidate.excerpt}”
        </p>
      </div>
      <div className="flex gap-2">
        <Button
          small
          look="primary"
          aria-label={`Approve the price of ${candidate.model_id}`}
          onClick={() => approve.mutate({ params })}
        >
          Approve
        </Button>
        <Button
          small
          aria-label={`Reject the price of ${candidate.model_id}`}
          onClick={() => reject.mutate({ params })}
        >
          Reject
        </Button>
      </div>
    </li>
  );
}

function Sources() {
  const sources = useOperator('listPriceSources');
  const columns: Column<Source>[] = [
    { head: 'Source', cell: (row) => <span className="[overflow-wrap:anywhere]">{row.source}</span> },
    { head: 'Models', numeric: true, cell: (row) => formatCount(row.models_found) },
    { head: 'Last success', cell: (row) => <Age at={row.last_success_at} /> },
    {
      head: 'State',
      cell: (row) =>
        row.last_error ? <Badge tone="bad">{row.last_error}</Badge> : <Badge tone="good">good</Badge>,
    },
  ];
  return (
    <Card title="Price sources">
      <Loaded query={sources}>
        {(rows) => (
          <Table
            label="Price sources"
            columns={columns}
            rows={rows}
            rowKey={(row) => row.source}
            empty={
              <EmptyState title="No sources are configured">Name them in GATEWAY_PRICE_SOURCES.</EmptyState>
            }
          />
        )}
      </Loaded>
    </Card>
  );
}

function Announced() {
  const [announcing, setAnnouncing] = useState(false);
  const changes = useOperator('listAnnouncedPriceChanges');
  const announce = (
    <Button small onClick={() => setAnnouncing(true)}>
      Announce a change
    </Button>
  );
  return (
    <Card title="Announced price changes" actions={announce}>
      {announcing && <AnnounceDialog onClose={() => setAnnouncing(false)} />}
      <Loaded query={changes}>
        {({ data }) => (
          <Table
            label="Announced price changes"
            rows={data}
            rowKey={(row) => row.id}
            empty={<EmptyState title="No price has changed yet" />}
            columns={[
              { head: 'Model', cell: (row) => <span className="font-medium">{row.model_id}</span> },
              {
                head: 'What',
                cell: (row) => (
                  <span className="text-muted">
                    {row.differences.map(({ field }) => nameOfRate(field).replace(/,.*/, '')).join(', ')}
                  </span>
                ),
              },
              { head: 'In force', from: 'sm', cell: (row) => <Time at={row.effective_at} /> },
              { head: 'Told', numeric: true, cell: (row) => `${formatCount(row.tenants_notified)} tenants` },
              {
                head: 'Applied',
                from: 'sm',
                cell: (row) => (row.applied ? <Badge tone="good">yes</Badge> : <Badge>only told</Badge>),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}
