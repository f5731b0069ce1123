import { useState } from 'react';
import { type RowOf, useAction, useApi } from '../api.ts';
import { formatPercent } from '../numbers.ts';
import { Badge, type Tone } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Meter } from '../ui/Meter.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age } from '../ui/Time.tsx';
import { ApprovalsCard } from './ApprovalsCard.tsx';
import { BudgetDialog } from './BudgetDialog.tsx';
import { projectedShare, scopeOfBudget, useTeamNames } from './budget-words.ts';

export type Budget = RowOf<'listBudgets'>;

const REFRESH = { refetchInterval: 5_000 };
const MODES: Record<Budget['mode'], { tone: Tone; does: string }> = {
  soft: { tone: 'neutral', does: 'tells' },
  hard: { tone: 'bad', does: 'blocks' },
  approval: { tone: 'accent', does: 'blocks and asks' },
};

export function BudgetsPage() {
  const [editing, setEditing] = useState<Budget | 'new' | null>(null);
  const budgets = useApi('listBudgets', undefined, REFRESH);
  return (
    <Page
      title="Budgets & approvals"
      note="A soft budget tells, a hard one blocks before money is spent, an approval budget blocks and asks."
      actions={
        <Button look="primary" onClick={() => setEditing('new')}>
          Create budget
        </Button>
      }
    >
      <ApprovalsCard budgets={budgets.data ?? []} />
      <Card title="Budgets">
        <Loaded query={budgets}>{(rows) => <BudgetTable rows={rows} onEdit={setEditing} />}</Loaded>
      </Card>
      {editing !== null && (
        <BudgetDialog budget={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </Page>
  );
}

function useBudgetColumns(onEdit: (budget: Budget) => void): Column<Budget>[] {
  const teamNames = useTeamNames();
  const remove = useAction('deleteBudget', {
    refreshes: ['listBudgets', 'listBudgetApprovals'],
    done: 'The budget is deleted.',
  });
  return [
    {
      head: 'Scope',
      cell: (row) => (
        <>
          <span className="font-medium">{scopeOfBudget(row, teamNames)}</span>{' '}
          <span className="text-muted">{row.period}</span>
        </>
      ),
    },
    {
      head: 'At its limit',
      from: 'sm',
      cell: (row) => (
        <Badge tone={MODES[row.mode].tone}>
          {row.mode}: {MODES[row.mode].does}
        </Badge>
      ),
    },
    { head: 'Used', cell: (row) => <Used row={row} label={scopeOfBudget(row, teamNames)} /> },
    {
      head: 'Spent',
      from: 'sm',
      numeric: true,
      cell: (row) => <Money microdollars={row.current_spend_microdollars} />,
    },
    {
      head: 'Reserved',
      from: 'lg',
      numeric: true,
      cell: (row) => <Money microdollars={row.reserved_microdollars} />,
    },
    {
      head: 'Limit',
      from: 'sm',
      numeric: true,
      cell: (row) => <Money microdollars={row.effective_limit_microdollars} />,
    },
    { head: 'Resets', from: 'md', cell: (row) => <Age at={row.resets_at} /> },
    {
      head: 'Actions',
      hideHead: true,
      numeric: true,
      cell: (row) => (
        <span className="inline-flex gap-1">
          <Button
            small
            look="quiet"
            aria-label={`Change the budget of ${scopeOfBudget(row, teamNames)}`}
            onClick={() => onEdit(row)}
          >
            Change
          </Button>
          <ConfirmButton
            label="Delete"
            accessibleLabel={`Delete the budget of ${scopeOfBudget(row, teamNames)}`}
            title="Delete this budget?"
            confirm="Delete budget"
            onConfirm={() => remove.mutateAsync({ params: { id: row.id } })}
          >
            Nothing is held back by it any more, and an approval that waits for it is denied.
          </ConfirmButton>
        </span>
      ),
    },
  ];
}

function BudgetTable({
  rows,
  onEdit,
}: {
  rows: readonly Budget[];
  onEdit: (budget: Budget | 'new') => void;
}) {
  const columns = useBudgetColumns(onEdit);
  return (
    <Table
      label="Budgets"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={
        <EmptyState
          title="No budgets yet"
          action={
            <Button look="primary" onClick={() => onEdit('new')}>
              Create your first budget
            </Button>
          }
        >
          Cap what the account, a team, a service or an agent may spend in a day, a week or a month.
        </EmptyState>
      }
    />
  );
}

function Used({ row, label }: { row: Budget; label: string }) {
  const projected = projectedShare(row, Date.now());
  return (
    <div className="flex w-44 flex-col gap-1 max-sm:w-32">
      <span className="tabular-nums sm:hidden">
        <Money microdollars={row.current_spend_microdollars} /> of{' '}
        <Money microdollars={row.effective_limit_microdollars} />
      </span>
      <Meter label={`${label}, ${row.period} budget used`} share={row.utilization} projected={projected} />
      <span className="text-[12px] text-muted tabular-nums">
        {formatPercent(row.utilization, 0)}
        {projected !== null && ` · ${formatPercent(projected, 0)} at the end`}
      </span>
    </div>
  );
}
