import { useState } from 'react';
import { PROVIDER_LABELS, PROVIDERS, type Provider } from '../../contract/providers.ts';
import { useAction } from '../api.ts';
import { Button } from '../ui/Button.tsx';
import { Field, Select } from '../ui/Field.tsx';

const PROVIDER_CHOICES = PROVIDERS.map((value) => ({
  value,
  label: `${PROVIDER_LABELS[value]} (${value})`,
}));

/** Stores the key of a provider; the provider can be fixed by where the form stands. */
export function ProviderKeyForm({ provider, onStored }: { provider?: Provider; onStored?: () => void }) {
  const [chosen, setChosen] = useState<Provider>(provider ?? 'prov_a');
  const [key, setKey] = useState('');
  const store = useAction('storeProviderKey', {
    refreshes: ['listProviderKeys'],
    done: ({ provider: stored }) => `The ${PROVIDER_LABELS[stored]} key is stored.`,
  });
  return (
    <form
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        store.mutate({ body: { provider: chosen, key: key.trim() } }, { onSuccess: () => onStored?.() });
      }}
    >
      {!provider && (
        <Select
          label="Provider"
          value={chosen}
          choices={PROVIDER_CHOICES}
          onChange={(event) => setChosen(event.target.value as Provider)}
        />
      )}
      <Field
        label="Provider key"
        type="password"
        autoComplete="off"
        spellCheck={false}
        placeholder="sk-…"
        value={key}
        onChange={(event) => setKey(event.target.value)}
        required
      />
      <Button type="submit" look="primary" busy={store.isPending}>
        Store key
      </Button>
    </form>
  );
}
