import { type RowOf, useAction, useApi } from '../api.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Checkbox } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Time } from '../ui/Time.tsx';
import { useUrlState } from '../url-state.ts';

type Finding = RowOf<'listSavings'>;

const TYPES: Record<Finding['finding_type'], string> = {
  model_downgrade_opportunity: 'A smaller model would do',
  small_token_requests: 'Small requests on a large model',
  underutilized_cache: 'The cache is hardly used',
  duplicate_prompts: 'The same prompt again and again',
  idle_models: 'Hardly used model',
};

export function SavingsPage() {
  const [{ dismissed }, set] = useUrlState();
  const all = dismissed === 'shown';
  const findings = useApi('listSavings', { query: { ...(all && { include_dismissed: true }) } });
  return (
    <Page
      title="Savings"
      note="Where the last 30 days could have cost less, looked at every night. Findings can concern the same requests, so they do not add up."
      actions={
        <Checkbox
          label="Show dismissed"
          checked={all}
          onChange={({ target }) => set({ dismissed: target.checked ? 'shown' : undefined })}
        />
      }
    >
      <Loaded query={findings}>
        {(rows) =>
          rows.length === 0 ? (
            <Card>
              <EmptyState title="Nothing found">
                The analysis runs at 02:00 UTC over the last 30 days; there is nothing it would change so far.
              </EmptyState>
            </Card>
          ) : (
            <ul className="grid gap-4 lg:grid-cols-2">
              {rows.map((finding) => (
                <li key={finding.id} className="min-w-0">
                  <FindingCard finding={finding} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}

function FindingCard({ finding }: { finding: Finding }) {
  const dismiss = useAction('dismissSaving', { refreshes: ['listSavings'], done: 'Dismissed for good.' });
  return (
    <Card className="h-full">
      <div className="flex h-full flex-col gap-3 p-4">
        <div className="flex items-start justify-between gap-4">
          <div className="min-w-0">
            <h2 className="font-semibold">{TYPES[finding.finding_type]}</h2>
            <p className="text-[13px] text-muted [overflow-wrap:anywhere]">
              {finding.model_id} · {finding.service_name ?? 'all services'} ·{' '}
              <Time at={finding.period_start} shape="day" /> to <Time at={finding.period_end} shape="day" />
            </p>
          </div>
          <p className="text-right text-xl font-semibold text-good tabular-nums">
            <Money microdollars={finding.savings_microdollars} />
          </p>
        </div>
        <p>{finding.recommendation_text}</p>
        <div className="mt-auto flex flex-wrap items-center justify-between gap-2 text-[13px] text-muted">
          <span>
            <Money microdollars={finding.current_cost_microdollars} /> →{' '}
            <Money microdollars={finding.optimized_cost_microdollars} />
          </span>
          {finding.dismissed ? (
            <Badge>dismissed</Badge>
          ) : (
            <Button
              small
              look="quiet"
              busy={dismiss.isPending}
              aria-label={`Dismiss: ${TYPES[finding.finding_type]}, ${finding.model_id}`}
              onClick={() => dismiss.mutate({ params: { id: finding.id } })}
            >
              Dismiss
            </Button>
          )}
        </div>
      </div>
    </Card>
  );
}
