import { useState } from 'react';
import { MODEL_STATUSES } from '../../contract/operator-models.ts';
import { PROVIDER_LABELS, PROVIDERS, type Provider } from '../../contract/providers.ts';
import type { RowOf } from '../api.ts';
import { formatCompact, formatRate } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { FilterSelect, FilterText } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Pager } from '../ui/Pager.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { usePaging, useUrlState } from '../url-state.ts';
import { useOperator, useOperatorAction } from './client.tsx';
import { PriceFields } from './PriceFields.tsx';
import { priceChanges } from './price-form.ts';

type Model = RowOf<'listOperatorModels'>;
type ModelStatus = Model['status'];

const PROVIDER_NAMES = PROVIDERS.map((value) => ({ value, label: PROVIDER_LABELS[value] }));

function rate(value: number | undefined): string {
  return value === undefined ? '–' : formatRate(value);
}

function modelColumns(onEdit: (model: Model) => void): Column<Model>[] {
  return [
    {
      head: 'Model',
      cell: (row) => (
        <button
          type="button"
          className="text-left font-medium text-accent underline-offset-2 hover:underline"
          onClick={() => onEdit(row)}
        >
          {row.model_id}
        </button>
      ),
    },
    {
      head: 'Provider',
      from: 'md',
      cell: (row) => <span className="text-muted">{PROVIDER_LABELS[row.provider]}</span>,
    },
    {
      head: 'Status',
      from: 'sm',
      cell: (row) => <Badge tone={row.status === 'active' ? 'good' : 'warn'}>{row.status}</Badge>,
    },
    { head: 'Input', numeric: true, cell: (row) => rate(row.pricing_input_per_mtok) },
    { head: 'Cached', from: 'md', numeric: true, cell: (row) => rate(row.pricing_cached_per_mtok) },
    { head: 'Output', numeric: true, cell: (row) => rate(row.pricing_output_per_mtok) },
    {
      head: 'Context',
      from: 'lg',
      numeric: true,
      cell: (row) => (row.context_window === null ? '–' : formatCompact(row.context_window)),
    },
    {
      head: 'To come',
      from: 'lg',
      numeric: true,
      cell: (row) =>
        row.upcoming_prices.length > 0 ? (
          <Badge tone="accent">
            {row.upcoming_prices.length} {row.upcoming_prices.length === 1 ? 'price' : 'prices'}
          </Badge>
        ) : (
          '–'
        ),
    },
  ];
}

export function OperatorModels() {
  const [editing, setEditing] = useState<Model | 'new' | null>(null);
  const [{ q, provider, status }] = useUrlState();
  const { limit, offset } = usePaging();
  const models = useOperator('listOperatorModels', {
    query: {
      ...(q && { search: q }),
      ...(provider && { provider: provider as Provider }),
      ...(status && { status: status as ModelStatus }),
      limit,
      offset,
    },
  });
  const columns = modelColumns(setEditing);
  return (
    <Card
      title="Models"
      actions={
        <>
          <FilterText label="Find a model" name="q" />
          <FilterSelect label="Provider" name="provider" any="All providers" choices={PROVIDER_NAMES} />
          <FilterSelect label="Status" name="status" any="Any status" choices={MODEL_STATUSES} />
          <Button small look="primary" onClick={() => setEditing('new')}>
            Add model
          </Button>
        </>
      }
    >
      <Loaded query={models}>
        {(data) => (
          <>
            <Table
              label="Models"
              columns={columns}
              rows={data.data}
              rowKey={(row) => row.id}
              empty={<EmptyState title="No model matches" />}
            />
            <Pager {...data} />
          </>
        )}
      </Loaded>
      {editing !== null && (
        <ModelDialog model={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </Card>
  );
}

function ModelDialog({ model, onClose }: { model: Model | null; onClose: () => void }) {
  const create = useOperatorAction('createModel', 'The model is added.');
  const update = useOperatorAction(
    'updateModel',
    'Saved. A changed price holds from now on, and those who used the model are told.',
  );
  const save = (texts: Record<string, string>) => {
    const body = {
      ...priceChanges(texts, model),
      status: texts.status as ModelStatus,
      ...(texts.context_window && { context_window: Number(texts.context_window) }),
      ...(texts.model_family && { model_family: texts.model_family }),
    };
    if (model) return update.mutate({ params: { id: model.id }, body }, { onSuccess: onClose });
    return create.mutate(
      { body: { ...body, model_id: texts.model_id ?? '', provider: texts.provider as Provider } },
      { onSuccess: onClose },
    );
  };
  return (
    <Dialog
      title={model ? model.model_id : 'Add model'}
      note="A new price opens a new row in the price history; nothing is ever charged again."
      open
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          save(formTexts(event.currentTarget));
        }}
      >
        {!model && <Field label="Model id" name="model_id" required autoFocus />}
        {!model && <Select label="Provider" name="provider" choices={PROVIDER_NAMES} />}
        <Field label="Family" name="model_family" defaultValue={model?.model_family} />
        <Select
          label="Status"
          name="status"
          defaultValue={model?.status ?? 'active'}
          choices={MODEL_STATUSES.map((value) => ({ value, label: value }))}
        />
        <Field
          label="Context window, tokens"
          name="context_window"
          type="number"
          min="1"
          defaultValue={model?.context_window ?? ''}
        />
        <PriceFields model={model} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending || update.isPending}>
            Save model
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
