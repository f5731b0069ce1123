import { useState } from 'react';
import { BUDGET_MODES, BUDGET_PERIODS, BUDGET_SCOPES } from '../../contract/budgets.ts';
import { useAction, useApi } from '../api.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import type { Budget } from './BudgetsPage.tsx';

type Mode = (typeof BUDGET_MODES)[number];
type Scope = (typeof BUDGET_SCOPES)[number];
type Period = (typeof BUDGET_PERIODS)[number];

const SCOPE_LABELS: Record<Scope, string> = {
  organization: 'Whole account',
  team: 'A team',
  service: 'A service',
  agent: 'An agent',
};
const MODE_LABELS: Record<Mode, string> = {
  soft: 'soft: tell me, block nothing',
  hard: 'hard: block what would pass the limit',
  approval: 'approval: block, and ask me for more',
};

/** Creates a budget, or changes the amount, period and mode of one. */
export function BudgetDialog({ budget, onClose }: { budget: Budget | null; onClose: () => void }) {
  const create = useAction('createBudget', { refreshes: ['listBudgets'], done: 'The budget is in force.' });
  const update = useAction('updateBudget', { refreshes: ['listBudgets'], done: 'The change is in force.' });
  const save = (texts: Record<string, string>) => {
    const terms = {
      amount_usd: Number(texts.amount_usd),
      period: texts.period as Period,
      mode: texts.mode as Mode,
    };
    if (budget) return update.mutate({ params: { id: budget.id }, body: terms }, { onSuccess: onClose });
    const scope_type = texts.scope_type as Scope;
    const scope =
      scope_type === 'agent'
        ? { agent_name: texts.scope_id ?? '' }
        : scope_type === 'organization'
          ? {}
          : { scope_id: texts.scope_id ?? '' };
    return create.mutate({ body: { ...terms, scope_type, ...scope } }, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={budget ? 'Change budget' : 'Create budget'}
      note="In force at once, on every node within a second."
      open
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save(formTexts(event.currentTarget));
        }}
      >
        {!budget && <ScopeFields />}
        <Field
          label="Amount in US dollars"
          name="amount_usd"
          type="number"
          min="0.000001"
          step="0.000001"
          required
          defaultValue={budget?.amount_usd}
        />
        <Select
          label="Period"
          name="period"
          defaultValue={budget?.period ?? 'monthly'}
          choices={BUDGET_PERIODS.map((value) => ({ value, label: value }))}
        />
        <Select
          label="At its limit"
          name="mode"
          defaultValue={budget?.mode ?? 'soft'}
          choices={BUDGET_MODES.map((value) => ({ value, label: MODE_LABELS[value] }))}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending || update.isPending}>
            {budget ? 'Save' : 'Create budget'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function ScopeFields() {
  const [scope, setScope] = useState<Scope>('organization');
  const teams = useApi('listTeams');
  return (
    <>
      <Select
        label="What it covers"
        name="scope_type"
        value={scope}
        onChange={(event) => setScope(event.target.value as Scope)}
        choices={BUDGET_SCOPES.map((value) => ({ value, label: SCOPE_LABELS[value] }))}
      />
      {scope === 'team' && (
        <Select
          label="Team"
          name="scope_id"
          choices={(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          hint={teams.data?.length === 0 ? 'There are no teams yet.' : undefined}
          required
        />
      )}
      {(scope === 'service' || scope === 'agent') && (
        <Field
          label={scope === 'service' ? 'Service' : 'Agent'}
          name="scope_id"
          hint={`As its requests say in X-Gateway-${scope === 'service' ? 'Service' : 'Agent'}.`}
          required
        />
      )}
    </>
  );
}
