import { PROVIDER_LABELS, PROVIDERS, type Provider } from '../../contract/providers.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { useOperatorAction } from './client.tsx';

const RATES = [
  ['pricing_input_per_mtok', 'Input, US$ per million tokens'],
  ['pricing_output_per_mtok', 'Output'],
  ['pricing_cached_per_mtok', 'Cached input'],
] as const;

/** A price that will hold from a day to come; whoever used the model is told now. */
export function AnnounceDialog({ onClose }: { onClose: () => void }) {
  const announce = useOperatorAction(
    'announcePriceChange',
    ({ tenants_notified }) => `Announced; ${tenants_notified} tenants are told.`,
  );
  const save = (texts: Record<string, string>) => {
    const rates = Object.fromEntries(
      RATES.flatMap(([name]) => (texts[name] ? [[name, Number(texts[name])]] : [])),
    );
    const body = {
      ...rates,
      provider: texts.provider as Provider,
      model_id: texts.model_id ?? '',
      ...(texts.day && { effective_at: `${texts.day}T00:00:00Z` }),
      ...(texts.source && { source: texts.source }),
      ...(texts.note && { note: texts.note }),
    };
    announce.mutate({ body }, { onSuccess: onClose });
  };
  return (
    <Dialog title="Announce a price change" note="Rates left empty stay as they are." open onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          save(formTexts(event.currentTarget));
        }}
      >
        <Select
          label="Provider"
          name="provider"
          choices={PROVIDERS.map((value) => ({ value, label: PROVIDER_LABELS[value] }))}
        />
        <Field label="Model id" name="model_id" required />
        {RATES.map(([name, label]) => (
          <Field key={name} label={label} name={name} type="number" min="0" step="0.000001" />
        ))}
        <Field label="In force from" name="day" type="date" hint="A UTC day; empty means now." />
        <Field label="Source" name="source" placeholder="where the provider says so" />
        <Field label="Note" name="note" />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={announce.isPending}>
            Announce
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
