import { useState } from 'react';
import { TENANT_STATUSES } from '../../contract/operator-tenants.ts';
import { PROVIDER_LABELS } from '../../contract/providers.ts';
import type { Output, RowOf } from '../api.ts';
import { formatCompact, formatCount } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card, Facts } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { FilterSelect, FilterText } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Pager } from '../ui/Pager.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age, Time } from '../ui/Time.tsx';
import { usePaging, useUrlState } from '../url-state.ts';
import { useOperator, useOperatorAction } from './client.tsx';

type Row = RowOf<'listTenants'>;
type Tenant = Output<'getTenant'>;
type Status = (typeof TENANT_STATUSES)[number];

function TenantStatus({ status }: { status: string }) {
  return <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>;
}

export function OperatorTenants() {
  const [{ q, status, tenant }, set] = useUrlState();
  const { limit, offset } = usePaging();
  const tenants = useOperator('listTenants', {
    query: { ...(q && { search: q }), ...(status && { status: status as Status }), limit, offset },
  });
  const columns: Column<Row>[] = [
    {
      head: 'Tenant',
      cell: (row) => (
        <button
          type="button"
          className="text-left font-medium text-accent underline-offset-2 hover:underline"
          onClick={() => set({ tenant: row.tenant_id })}
        >
          {row.name} <span className="block text-[13px] font-normal text-muted">{row.email}</span>
        </button>
      ),
    },
    { head: 'Status', cell: (row) => <TenantStatus status={row.status} /> },
    { head: 'Plan', from: 'sm', cell: (row) => row.plan_tier },
    {
      head: 'This month',
      from: 'md',
      numeric: true,
      cell: (row) => `${formatCompact(row.used_requests)} of ${formatCompact(row.included_requests)}`,
    },
    { head: '30 days', numeric: true, cell: (row) => <Money microdollars={row.cost_30_days_microdollars} /> },
    { head: 'Since', from: 'lg', numeric: true, cell: (row) => <Time at={row.created_at} shape="longDay" /> },
  ];
  return (
    <>
      {tenant && <TenantCard key={tenant} id={tenant} onClose={() => set({ tenant: undefined })} />}
      <Card
        title="Tenants"
        actions={
          <>
            <FilterText label="Find a tenant" name="q" placeholder="Name, e-mail or id" className="w-48" />
            <FilterSelect label="Status" name="status" any="Any status" choices={TENANT_STATUSES} />
          </>
        }
      >
        <Loaded query={tenants}>
          {(data) => (
            <>
              <Table
                label="Tenants"
                columns={columns}
                rows={data.data}
                rowKey={(row) => row.tenant_id}
                empty={<EmptyState title="No tenant matches" />}
              />
              <Pager {...data} />
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

function TenantCard({ id, onClose }: { id: string; onClose: () => void }) {
  const tenant = useOperator('getTenant', { params: { id } });
  return (
    <Card
      title={tenant.data?.name ?? 'Tenant'}
      note={id}
      actions={
        <Button small look="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Loaded query={tenant}>
        {(data) => (
          <div className="grid lg:grid-cols-2">
            <About tenant={data} />
            <TenantForm tenant={data} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function About({ tenant }: { tenant: Tenant }) {
  return (
    <Facts
      rows={[
        ['E-mail', tenant.email],
        ['Status', <TenantStatus key="status" status={tenant.status} />],
        [
          'Last 30 days',
          <span key="spend">
            <Money microdollars={tenant.usage.last_30_days.cost_microdollars} /> in{' '}
            {formatCount(tenant.usage.last_30_days.requests)} requests
          </span>,
        ],
        [
          'Top models',
          tenant.usage.top_models
            .map(({ model_id }) => model_id)
            .slice(0, 4)
            .join(', ') || 'none',
        ],
        [
          'Provider keys',
          tenant.provider_keys.map(({ provider }) => PROVIDER_LABELS[provider]).join(', ') || 'none',
        ],
        [
          'Gateway keys',
          <span key="keys">
            {tenant.api_keys.active} active, {tenant.api_keys.revoked} revoked, used{' '}
            <Age at={tenant.api_keys.last_used_at} />
          </span>,
        ],
        ['Teams', formatCount(tenant.teams)],
        ['Shares to the index', tenant.data_share_enabled ? 'yes' : 'no'],
        [
          'Latest audit',
          tenant.recent_audit
            .slice(0, 3)
            .map(({ action }) => action)
            .join(', ') || 'none',
        ],
      ]}
    />
  );
}

function TenantForm({ tenant }: { tenant: Tenant }) {
  const [status, setStatus] = useState<Status>(tenant.status as Status);
  const update = useOperatorAction('updateTenant', 'The tenant is changed.');
  return (
    <form
      className="flex flex-col gap-3 border-line p-4 lg:border-l"
      onSubmit={(event) => {
        event.preventDefault();
        const { plan_tier = '', included = '', notes = '' } = formTexts(event.currentTarget);
        update.mutate({
          params: { id: tenant.tenant_id },
          body: { plan_tier, status, included_requests: Number(included), notes: notes || null },
        });
      }}
    >
      <Field label="Plan" name="plan_tier" defaultValue={tenant.plan_tier} required />
      <Select
        label="Status"
        value={status}
        choices={TENANT_STATUSES.map((value) => ({ value, label: value }))}
        onChange={(event) => setStatus(event.target.value as Status)}
        hint="Who is not active can neither log in nor call."
      />
      <Field
        label="Included requests a month"
        name="included"
        type="number"
        min="0"
        defaultValue={tenant.included_requests}
        required
      />
      <Field label="Notes for operators" name="notes" defaultValue={tenant.notes ?? ''} />
      <div>
        <Button type="submit" busy={update.isPending}>
          Save tenant
        </Button>
      </div>
    </form>
  );
}
