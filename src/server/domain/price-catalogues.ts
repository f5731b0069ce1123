import type { Provider } from '../../contract/providers.ts';
import { decimalOfNumber } from './price-amounts.ts';
import {
  excerptOf,
  type SourceReading,
  type StatedBucket,
  type StatedLongContext,
  type StatedPrice,
  type StatedRates,
  type WantedModels,
  withoutContradictions,
} from './price-readings.ts';

type Fields = Record<string, unknown>;

/** Only the makers' own offers: what a reseller takes for the same model is another price. */
const MODELS_DEV_PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: 'prov_a',
  anthropic: 'prov_b',
  google: 'prov_c',
  deepseek: 'prov_d',
  mistral: 'prov_d',
  groq: 'prov_d',
  perplexity: 'prov_d',
};
const LITELLM_PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: 'prov_a',
  'text-completion-openai': 'prov_a',
  anthropic: 'prov_b',
  gemini: 'prov_c',
  deepseek: 'prov_d',
  mistral: 'prov_d',
  groq: 'prov_d',
  perplexity: 'prov_d',
};

/** US dollars per million tokens. */
const MODELS_DEV_RATES: ReadonlyArray<[StatedBucket, string]> = [
  ['input', 'input'],
  ['output', 'output'],
  ['cached_read', 'cache_read'],
  ['cache_write_5m', 'cache_write'],
];
/** US dollars per token. */
const LITELLM_RATES: ReadonlyArray<[StatedBucket, string]> = [
  ['input', 'input_cost_per_token'],
  ['output', 'output_cost_per_token'],
  ['cached_read', 'cache_read_input_token_cost'],
  ['cache_write_5m', 'cache_creation_input_token_cost'],
  ['cache_write_1h', 'cache_creation_input_token_cost_above_1hr'],
];
const TOKEN_TO_MILLION_PLACES = 6;
/** Rates of long prompts: models.dev has an object of them, LiteLLM a field beside each. */
const MODELS_DEV_LONG = /^context_over_(\d{1,5})k$/;
const LITELLM_LONG = /^(\w+)_above_(\d{1,5})k_tokens$/;

/** models.dev: providers, each with its models by id, each with its `cost`. */
export function readModelsDev(text: string, wanted: WantedModels): SourceReading {
  const catalogue = parseObject(text);
  if (!catalogue) return { kind: 'failed', reason: 'the catalogue is not a whole JSON object' };
  const entries: Entry[] = [];
  for (const [name, provider] of Object.entries(MODELS_DEV_PROVIDERS)) {
    const models = asObject(asObject(catalogue[name])?.models);
    if (!models) continue;
    for (const [modelId, value] of Object.entries(models)) {
      const model = asObject(value);
      if (!model) continue;
      entries.push({
        provider,
        modelId,
        fields: asObject(model.cost) ?? {},
        long: longOfModelsDev(asObject(model.cost) ?? {}),
        family: typeof model.family === 'string' ? model.family : null,
        contextWindow: asTokens(asObject(model.limit)?.context),
      });
    }
  }
  return readEntries(entries, wanted, MODELS_DEV_RATES, 0);
}

/** LiteLLM's price table: models by name, the provider's own name before a slash or within the entry. */
export function readLiteLlm(text: string, wanted: WantedModels): SourceReading {
  const catalogue = parseObject(text);
  if (!catalogue) return { kind: 'failed', reason: 'the catalogue is not a whole JSON object' };
  const entries: Entry[] = [];
  for (const [name, value] of Object.entries(catalogue)) {
    const fields = asObject(value);
    const maker = fields?.litellm_provider;
    if (!fields || typeof maker !== 'string' || !Object.hasOwn(LITELLM_PROVIDERS, maker)) continue;
    entries.push({
      provider: LITELLM_PROVIDERS[maker]!,
      modelId: name.startsWith(`${maker}/`) ? name.slice(maker.length + 1) : name,
      fields,
      long: longOfLiteLlm(fields),
      family: null,
      contextWindow: asTokens(fields.max_input_tokens),
    });
  }
  return readEntries(entries, wanted, LITELLM_RATES, TOKEN_TO_MILLION_PLACES);
}

interface Entry {
  provider: Provider;
  modelId: string;
  /** Where the rates stand. */
  fields: Fields;
  /** Where those of long prompts stand, by the same names, for each number of thousand tokens. */
  long: Map<number, Fields>;
  family: string | null;
  contextWindow: number | null;
}

function longOfModelsDev(cost: Fields): Map<number, Fields> {
  const long = new Map<number, Fields>();
  for (const [name, value] of Object.entries(cost)) {
    const thousands = MODELS_DEV_LONG.exec(name)?.[1];
    const fields = asObject(value);
    if (thousands !== undefined && fields) long.set(Number(thousands), fields);
  }
  return long;
}

function longOfLiteLlm(fields: Fields): Map<number, Fields> {
  const long = new Map<number, Fields>();
  for (const [name, value] of Object.entries(fields)) {
    const [, rate, thousands] = LITELLM_LONG.exec(name) ?? [];
    if (!LITELLM_RATES.some(([, known]) => known === rate) || value === null) continue;
    long.set(Number(thousands), { ...long.get(Number(thousands)), [rate!]: value });
  }
  return long;
}

function readEntries(
  entries: readonly Entry[],
  wanted: WantedModels,
  names: ReadonlyArray<[StatedBucket, string]>,
  shiftPlaces: number,
): SourceReading {
  if (entries.length === 0)
    return { kind: 'failed', reason: 'the catalogue has no model of a known provider' };
  const stated: StatedPrice[] = [];
  const skipped: string[] = [];
  for (const entry of entries) {
    if (!wanted.get(entry.provider)?.has(entry.modelId)) continue;
    const rates = readRates(entry.fields, names, shiftPlaces);
    const long = readLong(entry, names, shiftPlaces);
    if (typeof rates === 'string') skipped.push(`${entry.modelId}: ${rates}`);
    else if (rates.input === undefined) skipped.push(`${entry.modelId}: no input price`);
    else if (typeof long === 'string') skipped.push(`${entry.modelId}: ${long}`);
    else stated.push({ ...statedPrice(entry, rates, names), ...(long && { long_context: long }) });
  }
  const { prices, skipped: contradicted } = withoutContradictions(stated);
  return { kind: 'read', prices, skipped: [...skipped, ...contradicted] };
}

/** The rates, or why they cannot be read for certain. */
function readRates(
  fields: Fields,
  names: ReadonlyArray<[StatedBucket, string]>,
  shiftPlaces: number,
): StatedRates | string {
  const rates: StatedRates = {};
  for (const [bucket, name] of names) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    const rate = decimalOfNumber(value, shiftPlaces);
    if (rate === null) return `${name} is not a price`;
    rates[bucket] = rate;
  }
  return rates;
}

/** A price has one threshold; a source that has several cannot be taken over as it is. */
function readLong(
  entry: Entry,
  names: ReadonlyArray<[StatedBucket, string]>,
  shiftPlaces: number,
): StatedLongContext | string | null {
  const [first, ...more] = entry.long;
  if (!first) return null;
  if (more.length > 0) return 'more than one price for long prompts';
  const [thousands, fields] = first;
  const rates = readRates(fields, names, shiftPlaces);
  return typeof rates === 'string' ? rates : { threshold_tokens: thousands * 1_000, rates };
}

function statedPrice(
  entry: Entry,
  rates: StatedRates,
  names: ReadonlyArray<[StatedBucket, string]>,
): StatedPrice {
  const statedOf = (fields: Fields) =>
    Object.fromEntries(
      names.flatMap(([, name]) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
    );
  const above = [...entry.long].map(([thousands, fields]) => [`above ${thousands}k`, statedOf(fields)]);
  const said = { ...statedOf(entry.fields), ...Object.fromEntries(above) };
  return {
    provider: entry.provider,
    model_id: entry.modelId,
    model_family: entry.family,
    context_window: entry.contextWindow,
    rates,
    currency: 'USD',
    excerpt: excerptOf(`"${entry.modelId}": ${JSON.stringify(said)}`),
  };
}

function parseObject(text: string): Fields | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

function asObject(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function asTokens(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}
