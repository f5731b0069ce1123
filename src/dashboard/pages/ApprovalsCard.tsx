import { useState } from 'react';
import { DEFAULT_GRANT_HOURS, MAX_GRANT_HOURS } from '../../contract/budget-approvals.ts';
import { type RowOf, useAction, useApi } from '../api.ts';
import { Badge, type Tone } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { Age } from '../ui/Time.tsx';
import { useUrlState } from '../url-state.ts';
import type { Budget } from './BudgetsPage.tsx';
import { scopeOfBudget, useTeamNames } from './budget-words.ts';

type Approval = RowOf<'listBudgetApprovals'>;

const REFRESHED = ['listBudgetApprovals', 'listBudgets'] as const;
const TONES: Record<Approval['status'], Tone> = {
  pending: 'warn',
  approved: 'good',
  denied: 'bad',
  expired: 'neutral',
};
const DEFAULT_EXTRA_USD = '10';

/** Who asks for more, decided where it is read. */
export function ApprovalsCard({ budgets }: { budgets: readonly Budget[] }) {
  const [{ approvals: shown = 'pending' }] = useUrlState();
  const status = shown === 'decided' ? undefined : ('pending' as const);
  const approvals = useApi(
    'listBudgetApprovals',
    { query: { ...(status && { status }), limit: 50 } },
    { refetchInterval: 3_000 },
  );
  const pending = useApi('listBudgetApprovals', { query: { status: 'pending', limit: 1 } });
  return (
    <Card title="Approvals">
      <Tabs
        label="Approvals"
        name="approvals"
        current={shown === 'decided' ? 'decided' : 'pending'}
        tabs={[
          { id: 'pending', label: 'Waiting', count: pending.data?.total ?? 0 },
          { id: 'decided', label: 'Decided' },
        ]}
      />
      <Loaded query={approvals}>
        {({ data }) =>
          shown === 'decided' ? (
            <Decided rows={data.filter((row) => row.status !== 'pending')} budgets={budgets} />
          ) : data.length === 0 ? (
            <EmptyState title="Nobody waits for an approval">
              When a call would pass an approval budget it is refused, and the wish for more appears here.
            </EmptyState>
          ) : (
            <ul>
              {data.map((approval) => (
                <Waiting key={approval.id} approval={approval} budgets={budgets} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function useScopeName(budgets: readonly Budget[]): (approval: Approval) => string {
  const teamNames = useTeamNames();
  return (approval) => {
    const budget = budgets.find(({ id }) => id === approval.budget_id);
    return budget ? `${scopeOfBudget(budget, teamNames)}, ${budget.period}` : 'a deleted budget';
  };
}

function Waiting({ approval, budgets }: { approval: Approval; budgets: readonly Budget[] }) {
  const [extraUsd, setExtraUsd] = useState(DEFAULT_EXTRA_USD);
  const [hours, setHours] = useState(String(DEFAULT_GRANT_HOURS));
  const nameOf = useScopeName(budgets);
  const approve = useAction('approveBudgetApproval', {
    refreshes: REFRESHED,
    done: ({ extra_usd, duration_hours }) => `Granted $${extra_usd} for ${duration_hours} hours.`,
  });
  const deny = useAction('denyBudgetApproval', {
    refreshes: REFRESHED,
    done: 'Denied; the budget stays as it is.',
  });
  const params = { id: approval.id };
  return (
    <li className="flex flex-wrap items-end justify-between gap-4 border-b border-line px-4 py-3 last:border-0">
      <div className="min-w-0">
        <p className="font-medium">{nameOf(approval)}</p>
        <p className="text-[13px] text-muted">
          <Wish details={approval.details} /> Asked <Age at={approval.requested_at} />.
        </p>
      </div>
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          approve.mutate({ params, body: { extra_usd: Number(extraUsd), duration_hours: Number(hours) } });
        }}
      >
        <Field
          label="Extra US$"
          type="number"
          min="0.000001"
          step="0.000001"
          className="w-28"
          value={extraUsd}
          onChange={(event) => setExtraUsd(event.target.value)}
          required
        />
        <Field
          label="Hours"
          type="number"
          min="1"
          max={MAX_GRANT_HOURS}
          className="w-20"
          value={hours}
          onChange={(event) => setHours(event.target.value)}
          required
        />
        <Button type="submit" look="primary" busy={approve.isPending}>
          Approve
        </Button>
        <Button busy={deny.isPending} onClick={() => deny.mutate({ params })}>
          Deny
        </Button>
      </form>
    </li>
  );
}

/** What the refused call would have cost and what stood against it, as far as it is told. */
function Wish({ details }: { details: Approval['details'] }) {
  const { estimated_usd, spent_usd, limit_usd, model_id } = details as Record<string, string | undefined>;
  return (
    <>
      {model_id && `A call of ${model_id} `}
      {estimated_usd && `${model_id ? '' : 'A call '}of up to $${estimated_usd} `}
      {(model_id || estimated_usd) && 'was refused'}
      {spent_usd && limit_usd && `: $${spent_usd} of $${limit_usd} spent`}
      {(model_id || estimated_usd || spent_usd) && '.'}
    </>
  );
}

function Decided({ rows, budgets }: { rows: readonly Approval[]; budgets: readonly Budget[] }) {
  const nameOf = useScopeName(budgets);
  const columns: Column<Approval>[] = [
    { head: 'Budget', cell: nameOf },
    { head: 'Decision', cell: (row) => <Badge tone={TONES[row.status]}>{row.status}</Badge> },
    {
      head: 'Extra',
      numeric: true,
      cell: (row) =>
        row.extra_microdollars === null ? '–' : <Money microdollars={row.extra_microdollars} />,
    },
    { head: 'Until', cell: (row) => <Age at={row.approved_until} never="–" /> },
    { head: 'By', from: 'md', cell: (row) => row.decided_by ?? '–' },
    { head: 'Decided', from: 'sm', cell: (row) => <Age at={row.decided_at} /> },
  ];
  return (
    <Table
      label="Decided approvals"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={<EmptyState title="Nothing has been decided yet" />}
    />
  );
}
