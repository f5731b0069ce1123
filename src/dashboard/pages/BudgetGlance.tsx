import { type RowOf, useApi } from '../api.ts';
import { formatMoney, formatPercent } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Meter } from '../ui/Meter.tsx';
import { Age } from '../ui/Time.tsx';
import { projectedShare, scopeOfBudget, useTeamNames } from './budget-words.ts';

const REFRESH = { refetchInterval: 15_000 };
const SHOWN = 6;

type Budget = RowOf<'listBudgets'>;

/** The budgets that are nearest to their limit, with where their period will end. */
export function BudgetGlance() {
  const budgets = useApi('listBudgets', undefined, REFRESH);
  return (
    <Card
      title="Budgets"
      note="The lighter bar is where the period ends at the pace so far"
      actions={
        <ButtonLink small look="quiet" to="/budgets">
          All budgets
        </ButtonLink>
      }
    >
      <Loaded query={budgets}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No budgets yet" action={<ButtonLink to="/budgets">Set a budget</ButtonLink>}>
              A budget warns, blocks, or asks for approval before money is spent that was not meant to be.
            </EmptyState>
          ) : (
            <ul className="grid md:grid-cols-2">
              {[...all]
                .sort((a, b) => b.utilization - a.utilization)
                .slice(0, SHOWN)
                .map((budget) => (
                  <Glance key={budget.id} budget={budget} />
                ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Glance({ budget }: { budget: Budget }) {
  const teamNames = useTeamNames();
  const scope = scopeOfBudget(budget, teamNames);
  const projected = projectedShare(budget, Date.now());
  return (
    <li className="flex min-w-0 flex-col gap-1.5 border-b border-line px-4 py-3">
      <span className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="min-w-0">
          {scope} <span className="text-[13px] text-muted">{budget.period}</span>{' '}
          <Badge tone={budget.mode === 'soft' ? 'neutral' : 'accent'}>{budget.mode}</Badge>
        </span>
        <span className="numeric">
          {formatMoney(budget.current_spend_microdollars)}{' '}
          <span className="text-muted">of {formatMoney(budget.effective_limit_microdollars)}</span>
        </span>
      </span>
      <Meter
        label={`${scope}, ${budget.period} budget used`}
        share={budget.utilization}
        projected={projected}
      />
      <span className="flex justify-between text-[13px] text-muted">
        <span>
          {formatPercent(budget.utilization, 0)} used
          {projected !== null && ` · ${formatPercent(projected, 0)} projected`}
        </span>
        <span>
          resets <Age at={budget.resets_at} />
        </span>
      </span>
    </li>
  );
}
