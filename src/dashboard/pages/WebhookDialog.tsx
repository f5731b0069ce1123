import { useState } from 'react';
import { SUBSCRIBABLE_EVENT_TYPES } from '../../contract/webhooks.ts';
import { type Output, useAction } from '../api.ts';
import { Button } from '../ui/Button.tsx';
import { SecretOnce } from '../ui/Copy.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Checkbox, Field } from '../ui/Field.tsx';

type EventType = (typeof SUBSCRIBABLE_EVENT_TYPES)[number];

/** Adds an endpoint, and shows its secret; or changes one. */
export function WebhookDialog({
  webhook,
  onClose,
}: {
  webhook: Output<'getWebhook'> | null;
  onClose: () => void;
}) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [types, setTypes] = useState<readonly EventType[]>(webhook?.event_types ?? ['alert.all']);
  const [secret, setSecret] = useState<string | null>(null);
  const create = useAction('createWebhook', { refreshes: ['listWebhooks'], done: 'The endpoint is added.' });
  const update = useAction('updateWebhook', { refreshes: ['listWebhooks', 'getWebhook'], done: 'Saved.' });
  const save = () => {
    const body = { url: url.trim(), event_types: [...types] };
    if (webhook) update.mutate({ params: { id: webhook.id }, body }, { onSuccess: onClose });
    else create.mutate({ body }, { onSuccess: (made) => setSecret(made.secret) });
  };
  if (secret !== null) {
    return (
      <Dialog title="The endpoint’s secret" open onClose={onClose}>
        <SecretOnce label="Check signatures with it." value={secret} />
        <DialogActions>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <Dialog title={webhook ? 'Change endpoint' : 'Add endpoint'} open onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field
          label="Address"
          type="url"
          placeholder="https://example.com/hooks/gateway"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          required
          autoFocus
        />
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 text-[13px] font-medium">Events</legend>
          {SUBSCRIBABLE_EVENT_TYPES.map((type) => (
            <Checkbox
              key={type}
              label={<code className="font-mono text-[13px]">{type}</code>}
              checked={types.includes(type)}
              onChange={(event) =>
                setTypes(event.target.checked ? [...types, type] : types.filter((one) => one !== type))
              }
            />
          ))}
        </fieldset>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            busy={create.isPending || update.isPending}
            disabled={types.length === 0}
          >
            {webhook ? 'Save' : 'Add endpoint'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
