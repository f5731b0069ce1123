import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type Output, type RowOf, useAction, useApi } from '../api.ts';
import { formatMs } from '../numbers.ts';
import { Badge, type Tone } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card, Facts } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { SecretOnce } from '../ui/Copy.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { Age, Time } from '../ui/Time.tsx';
import { usePaging } from '../url-state.ts';
import { WebhookDialog } from './WebhookDialog.tsx';
import { WebhookState } from './WebhooksPage.tsx';

type Delivery = RowOf<'listWebhookDeliveries'>;
type Webhook = Output<'getWebhook'>;

const TONES: Record<Delivery['status'], Tone> = { pending: 'warn', succeeded: 'good', failed: 'bad' };
const REFRESHED = ['listWebhookDeliveries', 'getWebhook', 'listWebhooks'] as const;

function outcome({ status, status_code, error_message, duration_ms }: Output<'testWebhook'>): string {
  const answer = status_code === null ? (error_message ?? 'no answer') : `answered ${status_code}`;
  return `${status === 'succeeded' ? 'Delivered' : 'Not delivered'}: ${answer} after ${formatMs(duration_ms)}.`;
}

export function WebhookPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const webhook = useApi('getWebhook', { params: { id } });
  const test = useAction('testWebhook', { refreshes: REFRESHED, done: outcome });
  return (
    <Page
      title="Webhook endpoint"
      note={webhook.data?.url}
      actions={
        <Button look="primary" busy={test.isPending} onClick={() => test.mutate({ params: { id } })}>
          Send a test
        </Button>
      }
    >
      <Loaded query={webhook}>{(data) => <About webhook={data} />}</Loaded>
      <Deliveries id={id} />
    </Page>
  );
}

function About({ webhook }: { webhook: Webhook }) {
  const [editing, setEditing] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const navigate = useNavigate();
  const update = useAction('updateWebhook', { refreshes: REFRESHED, done: 'Saved.' });
  const rotate = useAction('rotateWebhookSecret', { refreshes: [] });
  const remove = useAction('deleteWebhook', {
    refreshes: ['listWebhooks'],
    done: 'The endpoint is deleted.',
  });
  const params = { id: webhook.id };
  return (
    <Card
      title="Endpoint"
      actions={
        <>
          <Button small look="quiet" onClick={() => setEditing(true)}>
            Change
          </Button>
          <Button
            small
            look="quiet"
            onClick={() => update.mutate({ params, body: { active: !webhook.active } })}
          >
            {webhook.active ? 'Set inactive' : 'Set active'}
          </Button>
          <Button
            small
            look="quiet"
            busy={rotate.isPending}
            onClick={() => rotate.mutate({ params }, { onSuccess: (made) => setSecret(made.secret) })}
          >
            Rotate secret
          </Button>
          <ConfirmButton
            label="Delete"
            title="Delete this endpoint?"
            confirm="Delete endpoint"
            onConfirm={() => remove.mutateAsync({ params }).then(() => navigate({ to: '/webhooks' }))}
          >
            Its delivery history goes with it, and pending retries are given up.
          </ConfirmButton>
        </>
      }
    >
      <Facts
        rows={[
          ['State', <WebhookState key="state" webhook={webhook} />],
          ['Events', webhook.event_types.join(', ')],
          ['Last delivery', <Age key="last" at={webhook.last_delivery_at} />],
          ['Added', <Time key="added" at={webhook.created_at} shape="full" />],
        ]}
      />
      {secret !== null && (
        <div className="px-4 pb-4">
          <SecretOnce
            label="The new secret. For 24 hours deliveries are signed with the old one too."
            value={secret}
          />
        </div>
      )}
      {editing && <WebhookDialog webhook={webhook} onClose={() => setEditing(false)} />}
    </Card>
  );
}

function Deliveries({ id }: { id: string }) {
  const { limit, offset } = usePaging();
  const deliveries = useApi(
    'listWebhookDeliveries',
    { params: { id }, query: { limit, offset } },
    { refetchInterval: 5_000 },
  );
  return (
    <Card title="Deliveries" note="Each with all its attempts, newest first">
      <Loaded query={deliveries}>
        {(data) =>
          data.data.length === 0 ? (
            <EmptyState title="Nothing has been sent yet">
              Send a test, or wait for the next alert.
            </EmptyState>
          ) : (
            <>
              <ul>
                {data.data.map((delivery) => (
                  <DeliveryRow key={delivery.id} webhookId={id} delivery={delivery} />
                ))}
              </ul>
              <Pager {...data} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function DeliveryRow({ webhookId, delivery }: { webhookId: string; delivery: Delivery }) {
  const replay = useAction('replayWebhookDelivery', { refreshes: REFRESHED, done: outcome });
  return (
    <li className="border-b border-line px-4 py-2.5 last:border-0">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="w-24">
          <Badge tone={TONES[delivery.status]}>{delivery.status}</Badge>
        </span>
        <code className="min-w-48 flex-1 font-mono text-[13px]">{delivery.event_type}</code>
        <span className="text-[13px] text-muted">
          <Age at={delivery.created_at} />
        </span>
        <Button
          small
          busy={replay.isPending}
          aria-label={`Replay ${delivery.event_type} of ${delivery.created_at}`}
          onClick={() => replay.mutate({ params: { id: webhookId, delivery_id: delivery.id } })}
        >
          Replay
        </Button>
      </div>
      <details className="mt-1 text-[13px]">
        <summary className="w-fit text-muted">
          {delivery.attempt_count} {delivery.attempt_count === 1 ? 'attempt' : 'attempts'}
          {delivery.error_message && `, last: ${delivery.error_message}`}
          {delivery.next_retry_at && (
            <>
              , next <Age at={delivery.next_retry_at} />
            </>
          )}
        </summary>
        <ol className="mt-1 flex flex-col gap-1 pl-4">
          {delivery.attempts.map((attempt) => (
            <li key={attempt.number} className="text-muted">
              {attempt.number}. <Time at={attempt.attempted_at} shape="second" />:{' '}
              {attempt.status_code ?? attempt.error_message ?? 'no answer'} after{' '}
              {formatMs(attempt.duration_ms)}
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}
