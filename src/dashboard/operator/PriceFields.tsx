import type { ReactNode } from 'react';
import { Checkbox, Field } from '../ui/Field.tsx';
import {
  FEE_LABELS,
  FEE_NAMES,
  type PricedModel,
  priceTexts,
  RATE_LABELS,
  RATE_NAMES,
  TIER_LABELS,
  TIERS,
} from './price-form.ts';

/** Most models have no others; the rest is folded away until somebody needs it. */
const COMMON_RATES = 5;

/** Everything a price can say, as `priceChanges` reads it. */
export function PriceFields({ model }: { model: PricedModel | null }) {
  const texts = priceTexts(model);
  const number = (name: string, label: string, step = '0.000001') => (
    <Field
      key={name}
      label={label}
      name={name}
      type="number"
      min="0"
      step={step}
      defaultValue={texts[name]}
    />
  );
  const text = (name: string, label: string, hint: string) => (
    <Field key={name} label={label} name={name} hint={hint} defaultValue={texts[name]} />
  );
  const rates = RATE_NAMES.map((name) => number(name, RATE_LABELS[name]));
  const isSet = (...prefixes: string[]) =>
    Object.entries(texts).some(
      ([name, value]) => value && prefixes.some((prefix) => name.startsWith(prefix)),
    );
  return (
    <>
      <Part title="Rates, US$ per million tokens" open>
        {rates.slice(0, COMMON_RATES)}
      </Part>
      <Part
        title="Reasoning, audio, images"
        open={RATE_NAMES.slice(COMMON_RATES).some((name) => texts[name]) || isSet('pricing_per_second')}
      >
        {rates.slice(COMMON_RATES)}
        {number('pricing_per_second_microdollars', 'Audio, microdollars per second')}
      </Part>
      <Part title="Long context: rates of the whole request above a threshold" open={isSet('long.')}>
        {number('long.threshold_tokens', 'Threshold, input tokens', '1')}
        {RATE_NAMES.map((name) => number(`long.${name}`, RATE_LABELS[name]))}
      </Part>
      <Part title="Tiers, regions, peak hours: multipliers" open={isSet('tier.', 'regions', 'peak.')}>
        {TIERS.map((tier) => number(`tier.${tier}`, TIER_LABELS[tier]))}
        {text('regions', 'Regions', 'such as us=1.1, eu=1.2')}
        {number('peak.multiplier', 'Peak hours')}
        {text('peak.windows', 'Peak windows, UTC', 'such as 08:00-12:30, 14:00-18:00')}
        {text('peak.except_dates', 'Days without a peak', 'such as 2026-12-25')}
        <Checkbox
          label="On weekdays only"
          name="peak.weekdays_only"
          defaultChecked={texts['peak.weekdays_only'] === 'on'}
        />
      </Part>
      <Part title="Fees, US$ per thousand calls" open={isSet('fee.')}>
        {FEE_NAMES.map((name) => number(`fee.${name}`, FEE_LABELS[name]))}
      </Part>
    </>
  );
}

function Part({ title, open = false, children }: { title: string; open?: boolean; children: ReactNode }) {
  return (
    <details open={open} className="rounded-lg border border-line">
      <summary className="cursor-pointer px-3 py-2 text-[13px] font-medium">{title}</summary>
      <div className="grid gap-3 px-3 pb-3 sm:grid-cols-2">{children}</div>
    </details>
  );
}
