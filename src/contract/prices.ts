import { Type } from 'typebox';
import { nullable } from './operation.ts';

/** US dollars per million tokens, by the bucket they are charged for. */
const Rate = Type.Number({ description: 'US dollars per million tokens, up to six decimals, kept exactly' });
const Multiplier = Type.Number({ description: 'up to six decimals; 0.5 is half price' });
const Fee = Type.Number({ description: 'US dollars per thousand calls, up to six decimals' });

const RATE_NAMES = [
  'pricing_input_per_mtok',
  'pricing_output_per_mtok',
  'pricing_cached_per_mtok',
  'pricing_cache_write_per_mtok',
  'pricing_cache_write_1h_per_mtok',
  'pricing_audio_input_per_mtok',
  'pricing_audio_output_per_mtok',
  'pricing_image_input_per_mtok',
  'pricing_image_output_per_mtok',
  'pricing_reasoning_per_mtok',
  'pricing_citation_per_mtok',
] as const;

const OptionalRate = Type.Optional(Rate);
const RemovableRate = Type.Optional(nullable(Rate));
type Named<Field> = Record<(typeof RATE_NAMES)[number], Field>;
const OptionalRates = Object.fromEntries(RATE_NAMES.map((name) => [name, OptionalRate])) as Named<
  typeof OptionalRate
>;
const RemovableRates = Object.fromEntries(RATE_NAMES.map((name) => [name, RemovableRate])) as Named<
  typeof RemovableRate
>;

const LongContext = Type.Object(
  { threshold_tokens: Type.Integer({ minimum: 1 }), ...OptionalRates },
  { description: 'rates of the whole request once its input is above the threshold' },
);
const TierMultipliers = Type.Object({
  flex: Type.Optional(Multiplier),
  priority: Type.Optional(Multiplier),
  batch: Type.Optional(Multiplier),
  fast: Type.Optional(Multiplier),
});
const RegionMultipliers = Type.Record(Type.String(), Multiplier, {
  description: 'by region name such as us',
});
const Fees = Type.Object({
  web_search_per_1k_usd: Type.Optional(Fee),
  request_low_per_1k_usd: Type.Optional(Fee),
  request_medium_per_1k_usd: Type.Optional(Fee),
  request_high_per_1k_usd: Type.Optional(Fee),
});
const Peak = Type.Object(
  {
    multiplier: Multiplier,
    utc_windows: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
    weekdays_only: Type.Optional(Type.Boolean()),
    except_dates: Type.Optional(Type.Array(Type.String())),
  },
  { description: 'hours (HH:MM, UTC) in which every rate is multiplied' },
);
const PerSecond = Type.Number({ description: 'microdollars per second of audio billed by its duration' });

/** A price as it is shown: what it does not state is charged as the nearest thing it does. */
export const Price = Type.Object({
  ...OptionalRates,
  pricing_per_second_microdollars: Type.Optional(PerSecond),
  long_context: Type.Optional(LongContext),
  tier_multipliers: Type.Optional(TierMultipliers),
  region_multipliers: Type.Optional(RegionMultipliers),
  fees: Type.Optional(Fees),
  peak: Type.Optional(Peak),
});

/** A price as it is changed: absent leaves a part as it is, null takes it away, an object replaces it whole. */
export const PriceChanges = {
  ...RemovableRates,
  pricing_per_second_microdollars: Type.Optional(nullable(PerSecond)),
  long_context: Type.Optional(nullable(LongContext)),
  tier_multipliers: Type.Optional(nullable(TierMultipliers)),
  region_multipliers: Type.Optional(nullable(RegionMultipliers)),
  fees: Type.Optional(nullable(Fees)),
  peak: Type.Optional(nullable(Peak)),
};
