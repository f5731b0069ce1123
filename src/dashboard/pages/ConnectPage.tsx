import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { PROVIDER_LABELS } from '../../contract/providers.ts';
import { useAction, useApi } from '../api.ts';
import { proxyUrl } from '../place.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button, ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { CodeBlock, SecretOnce } from '../ui/Copy.tsx';
import { Field } from '../ui/Field.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { Age } from '../ui/Time.tsx';
import { useUrlState } from '../url-state.ts';
import { SNIPPETS, type Snippet } from './connect-snippets.ts';
import { ProviderKeyForm } from './ProviderKeyForm.tsx';

const LOOK_EVERY_MS = 2_000;
/** Stands in a snippet where the key goes as long as none was made on this page. */
const KEY_PLACE = 'YOUR_GATEWAY_KEY';

/** From nothing to the first metered call, on one page. */
export function ConnectPage() {
  const [{ client }] = useUrlState();
  const [key, setKey] = useState<string | null>(null);
  const snippet = SNIPPETS.find(({ id }) => id === client) ?? SNIPPETS[0]!;
  const providerKeys = useApi('listProviderKeys');
  const apiKeys = useApi('listApiKeys');
  const hasProviderKey = providerKeys.data?.some(({ provider }) => provider === snippet.provider) ?? false;
  const hasKey = key !== null || (apiKeys.data?.some(({ revoked_at }) => revoked_at === null) ?? false);
  return (
    <Page
      title="Connect"
      note="Point a client at the gateway: the same calls, another address and another key."
    >
      <Step number={1} title="Choose your client" done>
        <Tabs label="Client" name="client" tabs={SNIPPETS} current={snippet.id} />
      </Step>
      <Step number={2} title={`Store your ${PROVIDER_LABELS[snippet.provider]} key`} done={hasProviderKey}>
        {hasProviderKey ? (
          <p className="text-muted">
            Stored, encrypted, and never shown again. Rotate or remove it under{' '}
            <Link to="/keys" className="text-accent underline underline-offset-2">
              Keys
            </Link>
            .
          </p>
        ) : (
          <ProviderKeyForm key={snippet.provider} provider={snippet.provider} />
        )}
      </Step>
      <Step number={3} title="Make a gateway key" done={hasKey}>
        <GatewayKey apiKey={key} hasOlder={hasKey} onMade={setKey} />
      </Step>
      <Step number={4} title="Call through the gateway" done={false} plain>
        <SnippetView snippet={snippet} apiKey={key} />
      </Step>
      <FirstRequest />
    </Page>
  );
}

function Step({
  number,
  title,
  done,
  plain = false,
  children,
}: {
  number: number;
  title: string;
  done: boolean;
  plain?: boolean;
  children: ReactNode;
}) {
  return (
    <Card
      title={
        <span className="flex items-center gap-2.5">
          <span
            aria-hidden="true"
            className={`grid size-6 place-items-center rounded-full text-[13px] ${
              done ? 'bg-good-soft text-good' : 'bg-sunken text-muted'
            }`}
          >
            {done ? '✓' : number}
          </span>
          {title}
        </span>
      }
      actions={plain ? undefined : done ? <Badge tone="good">done</Badge> : <Badge>to do</Badge>}
    >
      <div className="p-4">{children}</div>
    </Card>
  );
}

function GatewayKey({
  apiKey,
  hasOlder,
  onMade,
}: {
  apiKey: string | null;
  hasOlder: boolean;
  onMade: (key: string) => void;
}) {
  const [name, setName] = useState('first key');
  const create = useAction('createApiKey', { refreshes: ['listApiKeys'], done: 'The key is made.' });
  if (apiKey !== null) return <SecretOnce label="Your gateway key, filled in below." value={apiKey} />;
  return (
    <form
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate({ body: { name } }, { onSuccess: (made) => onMade(made.key) });
      }}
    >
      <Field
        label="Name of the key"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
      />
      <Button type="submit" look="primary" busy={create.isPending}>
        Create key
      </Button>
      {hasOlder && (
        <p className="pb-2 text-muted">You have keys already; put one of them into the snippet.</p>
      )}
    </form>
  );
}

function SnippetView({ snippet, apiKey }: { snippet: Snippet; apiKey: string | null }) {
  const code = snippet.code({ proxy: proxyUrl(), key: apiKey ?? KEY_PLACE });
  return (
    <div className="flex flex-col gap-2">
      <p className="text-muted">{snippet.note}</p>
      <CodeBlock label={`Snippet for ${snippet.label}`} code={code} />
      <p className="text-[13px] text-muted">
        Say who spends with the headers X-Gateway-Team, -Service, -User, -End-Customer, -Agent and -Tags. None
        of them reaches the provider.
      </p>
    </div>
  );
}

const GREEN = 'border-good/40 bg-good-soft text-good';
const AMBER = 'border-warn/40 bg-warn-soft text-warn';

function FirstRequest() {
  const requests = useApi('listRequests', { query: { limit: 1 } }, { refetchInterval: LOOK_EVERY_MS });
  const first = requests.data?.data[0];
  const looks = !first ? 'border-line bg-surface text-muted' : first.status_code < 400 ? GREEN : AMBER;
  return (
    <div
      role="status"
      className={`flex flex-wrap items-center justify-between gap-3 rounded-xl border px-4 py-3 ${looks}`}
    >
      {first ? (
        <>
          <p>
            <strong>{first.status_code < 400 ? 'Connected.' : 'Reached us, and was refused.'}</strong> The
            latest call used {first.model_id ?? 'no model'}, cost{' '}
            <Money microdollars={first.cost_microdollars} /> and was answered {first.status_code},{' '}
            <Age at={first.created_at} />.
          </p>
          <div className="flex gap-2">
            <ButtonLink small to={`/requests/${first.id}` as never}>
              Look at it
            </ButtonLink>
            <ButtonLink small look="primary" to="/">
              Go to the overview
            </ButtonLink>
          </div>
        </>
      ) : (
        <p className="flex items-center gap-2">
          <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-[var(--series-2)]" />
          Waiting for your first call. This turns green by itself.
        </p>
      )}
    </div>
  );
}
