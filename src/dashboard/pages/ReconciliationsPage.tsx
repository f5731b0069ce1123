import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type DragEvent, useState } from 'react';
import { INVOICED_PROVIDERS, type InvoicedProvider, PROVIDER_LABELS } from '../../contract/providers.ts';
import { type RowOf, uploadInvoice, useApi } from '../api.ts';
import { formatCount } from '../numbers.ts';
import { utcDay } from '../time.ts';
import { FormError } from '../ui/AuthFrame.tsx';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, Select } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';

type Run = RowOf<'listReconciliations'>;

const INVOICE_CHOICES = INVOICED_PROVIDERS.map((value) => ({ value, label: PROVIDER_LABELS[value] }));

/** Dollars as the file and the ledger add up, to the cent. */
export function Usd({ usd }: { usd: string }) {
  const value = Number(usd);
  return (
    <span className="tabular-nums" title={`$${usd}`}>
      {value < 0 ? '−' : ''}$
      {Math.abs(value).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}
    </span>
  );
}

export function ReconciliationsPage() {
  const runs = useApi('listReconciliations');
  const columns: Column<Run>[] = [
    {
      head: 'Invoice',
      cell: (run) => (
        <Link
          to="/reconciliation/$id"
          params={{ id: run.id }}
          className="font-medium text-accent underline-offset-2 hover:underline"
        >
          {PROVIDER_LABELS[run.provider]} {run.invoice_month}
        </Link>
      ),
    },
    { head: 'File', from: 'lg', cell: (run) => <span className="text-muted">{run.file_name ?? '–'}</span> },
    { head: 'Billed', numeric: true, cell: (run) => <Usd usd={run.invoice_total_usd} /> },
    { head: 'Ledger', numeric: true, cell: (run) => <Usd usd={run.ledger_total_usd} /> },
    { head: 'Difference', numeric: true, cell: (run) => <Usd usd={run.delta_usd} /> },
    {
      head: 'Not seen here',
      from: 'sm',
      cell: (run) =>
        run.shadow_ai_count > 0 ? (
          <Badge tone="warn">
            {formatCount(run.shadow_ai_count)} {run.shadow_ai_count === 1 ? 'model' : 'models'}
          </Badge>
        ) : (
          <Badge tone="good">none</Badge>
        ),
    },
    { head: 'Compared', from: 'md', cell: (run) => <Time at={run.created_at} /> },
  ];
  return (
    <Page
      title="Reconciliation"
      note="Drop a provider’s invoice or cost export: each model’s bill stands beside what the ledger says, and what never passed the gateway shows up."
    >
      <Upload />
      <Card title="Invoices compared">
        <Loaded query={runs}>
          {(rows) => (
            <Table
              label="Reconciliation runs"
              columns={columns}
              rows={rows}
              rowKey={(run) => run.id}
              empty={<EmptyState title="No invoice compared yet">Drop the first CSV above.</EmptyState>}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function lastMonth(): string {
  const now = new Date();
  return utcDay(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).slice(0, 7);
}

function Upload() {
  const [file, setFile] = useState<File | null>(null);
  const [provider, setProvider] = useState<InvoicedProvider>('prov_a');
  const [month, setMonth] = useState(lastMonth);
  const [over, setOver] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const upload = useMutation({
    mutationFn: uploadInvoice,
    onSuccess: async (run) => {
      await queries.invalidateQueries({ queryKey: ['listReconciliations'] });
      await navigate({ to: '/reconciliation/$id', params: { id: run.id } });
    },
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    setFile(event.dataTransfer.files[0] ?? null);
  };
  return (
    <Card title="Compare an invoice">
      <form
        className="grid gap-4 p-4 md:grid-cols-[2fr_1fr_1fr_auto] md:items-end"
        onSubmit={(event) => {
          event.preventDefault();
          if (file) upload.mutate({ file, provider, invoice_month: month });
        }}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a short cut for the file field inside */}
        <div
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={drop}
          className={`rounded-lg border border-dashed p-3 ${over ? 'border-accent bg-accent-soft' : 'border-line-strong'}`}
        >
          <Field
            label="Invoice or cost export, CSV"
            type="file"
            accept=".csv,text/csv"
            className="border-0 py-1.5 pl-0"
            onChange={(event) => setFile(event.target.files?.[0] ?? null)}
            hint={file ? `${file.name}, ${formatCount(file.size)} bytes` : 'Choose a file or drop it here.'}
          />
        </div>
        <Select
          label="Provider"
          value={provider}
          choices={INVOICE_CHOICES}
          onChange={(event) => setProvider(event.target.value as InvoicedProvider)}
        />
        <Field
          label="Month"
          type="month"
          value={month}
          onChange={(event) => setMonth(event.target.value)}
          required
        />
        <Button type="submit" look="primary" busy={upload.isPending} disabled={!file}>
          Compare
        </Button>
      </form>
      {upload.error && (
        <div className="px-4 pb-4">
          <FormError error={upload.error} />
        </div>
      )}
    </Card>
  );
}
