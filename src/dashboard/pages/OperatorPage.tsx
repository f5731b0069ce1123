import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Client } from '../../client/client.ts';
import { OperatorAudit } from '../operator/Audit.tsx';
import { askAs, OperatorClient, openOperatorClient } from '../operator/client.tsx';
import { OperatorHealth } from '../operator/Health.tsx';
import { OperatorModels } from '../operator/Models.tsx';
import { OperatorPrices } from '../operator/Prices.tsx';
import { OperatorStats } from '../operator/Stats.tsx';
import { OperatorTenants } from '../operator/Tenants.tsx';
import { AuthFrame, FormError } from '../ui/AuthFrame.tsx';
import { Button } from '../ui/Button.tsx';
import { Field, formTexts } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Wordmark } from '../ui/Shell.tsx';
import { ThemeSwitch, ZoneSwitch } from '../ui/Switches.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { useUrlState } from '../url-state.ts';

const TABS = [
  { id: 'platform', label: 'Platform' },
  { id: 'tenants', label: 'Tenants' },
  { id: 'models', label: 'Models' },
  { id: 'prices', label: 'Price changes' },
  { id: 'health', label: 'Health & jobs' },
  { id: 'audit', label: 'Audit' },
] as const;

const VIEWS: Record<(typeof TABS)[number]['id'], () => ReactNode> = {
  platform: OperatorStats,
  tenants: OperatorTenants,
  models: OperatorModels,
  prices: OperatorPrices,
  health: OperatorHealth,
  audit: OperatorAudit,
};

/** The console of whoever runs the gateway. Not for tenants: it asks for the operator token each time. */
export function OperatorPage() {
  const [client, setClient] = useState<Client | null>(null);
  if (!client) return <TokenForm onProved={setClient} />;
  return (
    <OperatorClient.Provider value={client}>
      <Console onLeave={() => setClient(null)} />
    </OperatorClient.Provider>
  );
}

function TokenForm({ onProved }: { onProved: (client: Client) => void }) {
  const prove = useMutation({
    mutationFn: async (token: string) => {
      const client = openOperatorClient(token);
      await askAs(client, 'verifyOperator');
      return client;
    },
    onSuccess: onProved,
  });
  return (
    <AuthFrame
      title="Operator console"
      note="The token is kept in this page’s memory only; reloading forgets it."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          prove.mutate(formTexts(event.currentTarget).token ?? '');
        }}
      >
        <Field label="Operator token" name="token" type="password" autoComplete="off" required autoFocus />
        <FormError error={prove.error} />
        <Button type="submit" look="primary" busy={prove.isPending}>
          Open console
        </Button>
      </form>
    </AuthFrame>
  );
}

function Console({ onLeave }: { onLeave: () => void }) {
  const [{ tab }] = useUrlState();
  const queries = useQueryClient();
  const current = TABS.find(({ id }) => id === tab)?.id ?? 'platform';
  const View = VIEWS[current];
  const leave = () => {
    queries.removeQueries({ queryKey: ['operator'] });
    onLeave();
  };
  return (
    <>
      <header className="flex min-h-14 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2 sm:px-6">
        <Wordmark />
        <div className="flex flex-wrap items-center gap-3">
          <ZoneSwitch />
          <ThemeSwitch />
          <Button small onClick={leave}>
            Forget token
          </Button>
        </div>
      </header>
      <main>
        <Page title="Operator console">
          <Tabs label="Console" tabs={TABS} current={current} />
          <View />
        </Page>
      </main>
    </>
  );
}
