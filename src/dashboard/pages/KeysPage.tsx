import { useState } from 'react';
import { ENVIRONMENTS } from '../../contract/api-keys.ts';
import { PROVIDER_LABELS } from '../../contract/providers.ts';
import { type RowOf, useAction, useApi } from '../api.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { SecretOnce } from '../ui/Copy.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age, Time } from '../ui/Time.tsx';
import { useTeamNames } from './budget-words.ts';
import { ProviderKeyForm } from './ProviderKeyForm.tsx';

type ApiKey = RowOf<'listApiKeys'>;
type ProviderKey = RowOf<'listProviderKeys'>;

export function KeysPage() {
  return (
    <Page
      title="Keys"
      note="Your applications carry gateway keys. The providers’ own keys stay here, encrypted, and never come back out."
    >
      <ApiKeys />
      <ProviderKeys />
    </Page>
  );
}

function useApiKeyColumns(): Column<ApiKey>[] {
  const teamNames = useTeamNames();
  const revoke = useAction('revokeApiKey', { refreshes: ['listApiKeys'], done: 'The key is revoked.' });
  return [
    { head: 'Name', cell: (key) => <span className="font-medium">{key.name}</span> },
    { head: 'Key', cell: (key) => <code className="font-mono">{key.key_prefix}…</code> },
    {
      head: 'Environment',
      from: 'sm',
      cell: (key) => (
        <Badge tone={key.environment === 'production' ? 'accent' : 'neutral'}>{key.environment}</Badge>
      ),
    },
    {
      head: 'Scope',
      from: 'lg',
      cell: (key) =>
        [
          key.team_id && `team ${teamNames.get(key.team_id) ?? key.team_id}`,
          key.service_name && `service ${key.service_name}`,
        ]
          .filter(Boolean)
          .join(', ') || <span className="text-muted">any</span>,
    },
    { head: 'Last used', from: 'sm', cell: (key) => <Age at={key.last_used_at} /> },
    { head: 'Created', from: 'md', cell: (key) => <Time at={key.created_at} shape="longDay" /> },
    {
      head: 'State',
      numeric: true,
      cell: (key) =>
        key.revoked_at ? (
          <Badge tone="bad">revoked</Badge>
        ) : (
          <ConfirmButton
            label="Revoke"
            accessibleLabel={`Revoke ${key.name}`}
            title={`Revoke ${key.name}?`}
            confirm="Revoke key"
            onConfirm={() => revoke.mutateAsync({ params: { id: key.id } })}
          >
            Clients that use {key.key_prefix}… are refused from now on. A revoked key cannot be brought back.
          </ConfirmButton>
        ),
    },
  ];
}

function ApiKeys() {
  const [creating, setCreating] = useState(false);
  const keys = useApi('listApiKeys');
  const columns = useApiKeyColumns();
  return (
    <Card
      title="Gateway keys"
      actions={
        <Button small look="primary" onClick={() => setCreating(true)}>
          Create key
        </Button>
      }
    >
      <Loaded query={keys}>
        {(rows) => (
          <Table
            label="Gateway keys"
            columns={columns}
            rows={rows}
            rowKey={(key) => key.id}
            rowClass={(key) => (key.revoked_at ? 'text-muted' : '')}
            empty={
              <EmptyState
                title="No gateway keys yet"
                action={
                  <Button look="primary" onClick={() => setCreating(true)}>
                    Create your first key
                  </Button>
                }
              >
                Give each application a key of its own: then each can be revoked, and its spend told apart.
              </EmptyState>
            }
          />
        )}
      </Loaded>
      <CreateKeyDialog open={creating} onClose={() => setCreating(false)} />
    </Card>
  );
}

function CreateKeyDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [made, setMade] = useState<string | null>(null);
  const teams = useApi('listTeams');
  const create = useAction('createApiKey', { refreshes: ['listApiKeys'] });
  const close = () => {
    setMade(null);
    onClose();
  };
  const choices = [
    { value: '', label: 'Any team' },
    ...(teams.data ?? []).map((team) => ({ value: team.id, label: team.name })),
  ];
  return (
    <Dialog title={made ? 'Your new key' : 'Create a gateway key'} open={open} onClose={close}>
      {made ? (
        <>
          <SecretOnce label="Copy it now." value={made} />
          <DialogActions>
            <Button look="primary" onClick={close}>
              Done
            </Button>
          </DialogActions>
        </>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            const { name = '', environment, team_id, service_name } = formTexts(event.currentTarget);
            const body = {
              name,
              environment: environment as (typeof ENVIRONMENTS)[number],
              ...(team_id && { team_id }),
              ...(service_name && { service_name }),
            };
            create.mutate({ body }, { onSuccess: ({ key }) => setMade(key) });
          }}
        >
          <Field label="Name" name="name" placeholder="checkout-service" required autoFocus />
          <Select
            label="Environment"
            name="environment"
            choices={ENVIRONMENTS.map((value) => ({ value, label: value }))}
          />
          <Select
            label="Team"
            name="team_id"
            choices={choices}
            hint="What is called with this key is this team’s, whatever its headers say."
          />
          <Field label="Service" name="service_name" placeholder="optional" />
          <DialogActions>
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" look="primary" busy={create.isPending}>
              Create key
            </Button>
          </DialogActions>
        </form>
      )}
    </Dialog>
  );
}

function useProviderKeyColumns(): Column<ProviderKey>[] {
  const revoke = useAction('revokeProviderKey', {
    refreshes: ['listProviderKeys'],
    done: 'The provider key is removed.',
  });
  return [
    {
      head: 'Provider',
      cell: (key) => (
        <>
          <span className="font-medium">{PROVIDER_LABELS[key.provider]}</span>{' '}
          <span className="text-muted">{key.provider}</span>
        </>
      ),
    },
    { head: 'Version', numeric: true, cell: (key) => key.key_version },
    { head: 'Rotated', cell: (key) => <Age at={key.last_rotated_at} /> },
    { head: 'Stored', from: 'sm', cell: (key) => <Time at={key.created_at} shape="longDay" /> },
    {
      head: 'Actions',
      hideHead: true,
      numeric: true,
      cell: (key) => (
        <ConfirmButton
          label="Remove"
          accessibleLabel={`Remove the ${PROVIDER_LABELS[key.provider]} key`}
          title={`Remove the ${PROVIDER_LABELS[key.provider]} key?`}
          confirm="Remove key"
          onConfirm={() => revoke.mutateAsync({ params: { id: key.id } })}
        >
          Calls to {PROVIDER_LABELS[key.provider]} are answered 502 provider_key_missing until another key is
          stored.
        </ConfirmButton>
      ),
    },
  ];
}

function ProviderKeys() {
  const [storing, setStoring] = useState(false);
  const keys = useApi('listProviderKeys');
  const columns = useProviderKeyColumns();
  return (
    <Card
      title="Provider keys"
      note="Storing another key for the same provider rotates it"
      actions={
        <Button small onClick={() => setStoring(true)}>
          Store provider key
        </Button>
      }
    >
      <Loaded query={keys}>
        {(rows) => (
          <Table
            label="Provider keys"
            columns={columns}
            rows={rows}
            rowKey={(key) => key.id}
            empty={
              <EmptyState
                title="No provider keys yet"
                action={<Button onClick={() => setStoring(true)}>Store the first one</Button>}
              >
                The gateway calls providers with your keys; without one it cannot forward anything.
              </EmptyState>
            }
          />
        )}
      </Loaded>
      <Dialog
        title="Store a provider key"
        note="Encrypted with a key of your account; nobody can read it back."
        open={storing}
        onClose={() => setStoring(false)}
      >
        <ProviderKeyForm onStored={() => setStoring(false)} />
      </Dialog>
    </Card>
  );
}
