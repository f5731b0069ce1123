import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { MAX_WEBHOOKS } from '../../contract/webhooks.ts';
import { type Output, useApi } from '../api.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age } from '../ui/Time.tsx';
import { WebhookDialog } from './WebhookDialog.tsx';

type Webhook = Output<'listWebhooks'>['webhooks'][number];

export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (!webhook.active)
    return (
      <Badge tone="bad">
        {webhook.disabled_reason ? `disabled: ${webhook.disabled_reason}` : 'inactive'}
      </Badge>
    );
  if (webhook.last_status === 'failed') return <Badge tone="warn">failing</Badge>;
  return <Badge tone="good">active</Badge>;
}

export function WebhooksPage() {
  const [creating, setCreating] = useState(false);
  const webhooks = useApi('listWebhooks', undefined, { refetchInterval: 10_000 });
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      Add endpoint
    </Button>
  );
  const columns: Column<Webhook>[] = [
    {
      head: 'Address',
      cell: (row) => (
        <Link
          to="/webhooks/$id"
          params={{ id: row.id }}
          className="font-medium text-accent underline-offset-2 [overflow-wrap:anywhere] hover:underline"
        >
          {row.url}
        </Link>
      ),
    },
    {
      head: 'Events',
      from: 'md',
      cell: (row) => (
        <span className="text-muted">
          {row.event_types.map((type) => type.replace('alert.', '').replaceAll('_', ' ')).join(', ')}
        </span>
      ),
    },
    { head: 'Last delivery', from: 'sm', cell: (row) => <Age at={row.last_delivery_at} /> },
    { head: 'State', numeric: true, cell: (row) => <WebhookState webhook={row} /> },
  ];
  return (
    <Page
      title="Webhooks"
      note={`Signed with Standard Webhooks, retried for a day, at most ${MAX_WEBHOOKS} endpoints.`}
      actions={create}
    >
      <Card>
        <Loaded query={webhooks}>
          {(data) => (
            <Table
              label="Webhook endpoints"
              columns={columns}
              rows={data.webhooks}
              rowKey={(row) => row.id}
              empty={
                <EmptyState title="No endpoints yet" action={create}>
                  Alerts and kill switches are sent to an https address of yours as they happen.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Card>
      {creating && <WebhookDialog webhook={null} onClose={() => setCreating(false)} />}
    </Page>
  );
}
