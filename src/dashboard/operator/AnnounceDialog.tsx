import { PROVIDER_LABELS, PROVIDERS, type Provider } from '../../contract/providers.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { useOperatorAction } from './client.tsx';
import { PriceFields } from './PriceFields.tsx';
import { priceChanges } from './price-form.ts';

/** A price that will hold from a day to come; whoever used the model is told now. */
export function AnnounceDialog({ onClose }: { onClose: () => void }) {
  const announce = useOperatorAction(
    'announcePriceChange',
    ({ tenants_notified }) => `Announced; ${tenants_notified} tenants are told.`,
  );
  const save = (texts: Record<string, string>) => {
    const body = {
      ...priceChanges(texts, null),
      provider: texts.provider as Provider,
      model_id: texts.model_id ?? '',
      ...(texts.day && { effective_at: `${texts.day}T00:00:00Z` }),
      ...(texts.source && { source: texts.source }),
      ...(texts.note && { note: texts.note }),
    };
    announce.mutate({ body }, { onSuccess: onClose });
  };
  return (
    <Dialog title="Announce a price change" note="What is left empty stays as it is." open onClose={onClose}>
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
        <PriceFields model={null} />
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
