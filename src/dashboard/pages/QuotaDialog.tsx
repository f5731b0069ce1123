import { useState } from 'react';
import { DEFAULT_ALERT_THRESHOLDS, QUOTA_DIMENSIONS, QUOTA_PERIODS } from '../../contract/spend-quotas.ts';
import { useAction, useApi } from '../api.ts';
import { microdollarsOf } from '../numbers.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Checkbox, Field, formTexts, Select } from '../ui/Field.tsx';
import type { Quota } from './QuotasPage.tsx';

type Dimension = (typeof QUOTA_DIMENSIONS)[number];

const LABELS: Record<Dimension, string> = {
  tenant_total: 'Whole account',
  model: 'A model',
  team: 'A team',
  service: 'A service',
  end_customer: 'An end customer',
};
const REFRESHED = ['listSpendQuotas', 'forecastSpendQuota'] as const;

function readThresholds(text: string): number[] {
  return [...new Set(text.split(/[\s,;%]+/).map(Number))]
    .filter((value) => Number.isInteger(value) && value > 0)
    .sort((a, b) => a - b);
}

export function QuotaDialog({ quota, onClose }: { quota: Quota | null; onClose: () => void }) {
  const [enabled, setEnabled] = useState(quota?.enabled ?? true);
  const create = useAction('createSpendQuota', {
    refreshes: REFRESHED,
    done: 'The quota watches from now on.',
  });
  const update = useAction('updateSpendQuota', { refreshes: REFRESHED, done: 'Saved.' });
  const save = (texts: Record<string, string>) => {
    const terms = {
      limit_microdollars: microdollarsOf(texts.limit_usd ?? ''),
      alert_thresholds: readThresholds(texts.thresholds ?? ''),
      enabled,
    };
    if (quota) return update.mutate({ params: { id: quota.id }, body: terms }, { onSuccess: onClose });
    const body = {
      ...terms,
      dimension_type: texts.dimension_type as Dimension,
      dimension_value: texts.dimension_value ?? '',
      period: texts.period as Quota['period'],
    };
    return create.mutate({ body }, { onSuccess: onClose });
  };
  return (
    <Dialog title={quota ? 'Change quota' : 'Create quota'} open onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save(formTexts(event.currentTarget));
        }}
      >
        {!quota && <DimensionFields />}
        <Field
          label="Limit in US dollars"
          name="limit_usd"
          type="number"
          min="0.000001"
          step="0.000001"
          defaultValue={quota ? quota.limit_microdollars / 1_000_000 : undefined}
          required
        />
        <Field
          label="Tell at these percentages"
          name="thresholds"
          defaultValue={(quota?.alert_thresholds ?? DEFAULT_ALERT_THRESHOLDS).join(', ')}
          hint="Whole numbers from 1 to 1000; each tells once per period."
        />
        <Checkbox
          label="Switched on"
          checked={enabled}
          onChange={(event) => setEnabled(event.target.checked)}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending || update.isPending}>
            {quota ? 'Save' : 'Create quota'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function DimensionFields() {
  const [dimension, setDimension] = useState<Dimension>('tenant_total');
  const teams = useApi('listTeams');
  return (
    <>
      <Select
        label="What it watches"
        name="dimension_type"
        value={dimension}
        onChange={(event) => setDimension(event.target.value as Dimension)}
        choices={QUOTA_DIMENSIONS.map((value) => ({ value, label: LABELS[value] }))}
      />
      {dimension === 'team' && (
        <Select
          label="Team"
          name="dimension_value"
          choices={(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          required
        />
      )}
      {dimension !== 'team' && dimension !== 'tenant_total' && (
        <Field
          label={LABELS[dimension].replace(/^An? /, '').replace(/^./, (letter) => letter.toUpperCase())}
          name="dimension_value"
          required
        />
      )}
      <Select
        label="Period"
        name="period"
        defaultValue="month"
        choices={QUOTA_PERIODS.map((value) => ({ value, label: value }))}
      />
    </>
  );
}
