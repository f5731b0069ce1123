import type { Input, RowOf } from '../api.ts';

export type PricedModel = RowOf<'listOperatorModels'>;
type Body = Input<'updateModel'>['body'];
type RateName = Extract<keyof PricedModel, `pricing_${string}_per_mtok`>;
type FeeName = keyof NonNullable<PricedModel['fees']>;
type Tier = keyof NonNullable<PricedModel['tier_multipliers']>;
type Peak = NonNullable<PricedModel['peak']>;

/** What a price can say of a model, as the operator API takes it. */
export type PriceParts = Pick<
  NonNullable<Body>,
  | RateName
  | 'pricing_per_second_microdollars'
  | 'long_context'
  | 'tier_multipliers'
  | 'region_multipliers'
  | 'fees'
  | 'peak'
>;

/** Every rate there is: one that the API gains is missed here by the compiler. */
export const RATE_LABELS: Record<RateName, string> = {
  pricing_input_per_mtok: 'Input',
  pricing_output_per_mtok: 'Output',
  pricing_cached_per_mtok: 'Cached input',
  pricing_cache_write_per_mtok: 'Cache write, 5 minutes',
  pricing_cache_write_1h_per_mtok: 'Cache write, 1 hour',
  pricing_reasoning_per_mtok: 'Reasoning',
  pricing_audio_input_per_mtok: 'Audio input',
  pricing_audio_output_per_mtok: 'Audio output',
  pricing_image_input_per_mtok: 'Image input',
  pricing_image_output_per_mtok: 'Image output',
  pricing_citation_per_mtok: 'Citations',
};
export const TIER_LABELS: Record<Tier, string> = {
  flex: 'Flex',
  priority: 'Priority',
  batch: 'Batch',
  fast: 'Fast',
};
export const FEE_LABELS: Record<FeeName, string> = {
  web_search_per_1k_usd: 'Web search',
  request_low_per_1k_usd: 'Request, low context',
  request_medium_per_1k_usd: 'Request, medium context',
  request_high_per_1k_usd: 'Request, high context',
};
export const RATE_NAMES = Object.keys(RATE_LABELS) as RateName[];
export const TIERS = Object.keys(TIER_LABELS) as Tier[];
export const FEE_NAMES = Object.keys(FEE_LABELS) as FeeName[];

/** What a price has at a path such as `long_context.threshold_tokens`; undefined when it has nothing there. */
export function partAt(price: object | null, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], price ?? {});
}

/** The fields of the form, by name; those of a part carry its name before their own. */
export function priceTexts(model: Partial<PricedModel> | null): Record<string, string> {
  const texts: Record<string, string> = {};
  const put = (name: string, value: unknown) => {
    texts[name] = value === undefined || value === null ? '' : String(value);
  };
  for (const name of RATE_NAMES) {
    put(name, model?.[name]);
    put(`long.${name}`, model?.long_context?.[name]);
  }
  put('pricing_per_second_microdollars', model?.pricing_per_second_microdollars);
  put('long.threshold_tokens', model?.long_context?.threshold_tokens);
  for (const tier of TIERS) put(`tier.${tier}`, model?.tier_multipliers?.[tier]);
  for (const name of FEE_NAMES) put(`fee.${name}`, model?.fees?.[name]);
  const regions = Object.entries(model?.region_multipliers ?? {});
  put('regions', regions.map(([region, multiplier]) => `${region}=${multiplier}`).join(', '));
  const peak = model?.peak;
  put('peak.multiplier', peak?.multiplier);
  put('peak.windows', peak?.utc_windows.map(({ from, to }) => `${from}-${to}`).join(', '));
  put('peak.weekdays_only', peak?.weekdays_only ? 'on' : '');
  put('peak.except_dates', peak?.except_dates?.join(', '));
  return texts;
}

/**
 * What the form changes: a rate by itself, a part as a whole. What is as it was is left out, so that saving a form
 * nobody touched opens no new price; what was emptied is taken away.
 */
export function priceChanges(texts: Record<string, string>, model: PricedModel | null): PriceParts {
  const before = priceTexts(model);
  const differs = (prefix: string) =>
    Object.keys(before).some((name) => name.startsWith(prefix) && (texts[name] ?? '') !== before[name]);
  const changes: PriceParts = {};
  for (const name of [...RATE_NAMES, 'pricing_per_second_microdollars'] as const) {
    if ((texts[name] ?? '') !== before[name]) changes[name] = texts[name] ? Number(texts[name]) : null;
  }
  if (differs('long.')) changes.long_context = longContext(texts);
  if (differs('tier.')) changes.tier_multipliers = numbersOf('tier.', TIERS, texts);
  if (differs('fee.')) changes.fees = numbersOf('fee.', FEE_NAMES, texts);
  if (differs('regions')) changes.region_multipliers = regionMultipliers(texts.regions ?? '');
  if (differs('peak.')) changes.peak = peakOf(texts);
  return changes;
}

/** The ones that are filled in; null when none is. */
function numbersOf<Name extends string>(
  prefix: string,
  names: readonly Name[],
  texts: Record<string, string>,
): Partial<Record<Name, number>> | null {
  const filled = names.filter((name) => texts[prefix + name]);
  if (filled.length === 0) return null;
  const entries = filled.map((name) => [name, Number(texts[prefix + name])]);
  return Object.fromEntries(entries) as Partial<Record<Name, number>>;
}

function longContext(texts: Record<string, string>): PriceParts['long_context'] {
  const rates = numbersOf('long.', RATE_NAMES, texts);
  const threshold = texts['long.threshold_tokens'];
  if (rates === null && !threshold) return null;
  // A threshold that was forgotten is for the server to refuse: it says what is missing.
  return { threshold_tokens: Number(threshold), ...rates };
}

function regionMultipliers(text: string): Record<string, number> | null {
  const entries = listOf(text).map((entry): [string, number] => {
    const [region = '', multiplier] = entry.split('=', 2);
    return [region.trim(), Number(multiplier)];
  });
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function peakOf(texts: Record<string, string>): Peak | null {
  const windows = listOf(texts['peak.windows'] ?? '').map((window) => {
    const [from = '', to = ''] = window.split('-', 2);
    return { from: from.trim(), to: to.trim() };
  });
  const multiplier = texts['peak.multiplier'];
  if (windows.length === 0 && !multiplier) return null;
  const exceptDates = listOf(texts['peak.except_dates'] ?? '');
  return {
    multiplier: Number(multiplier),
    utc_windows: windows,
    ...(texts['peak.weekdays_only'] && { weekdays_only: true }),
    ...(exceptDates.length > 0 && { except_dates: exceptDates }),
  };
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
