/**
 * The tokens of one exchange in disjoint buckets: every token the provider bills stands in exactly one of
 * them, so a cost is the plain sum of bucket × rate and nothing can be counted twice. Non-negative safe
 * integers only; the readers in proxy/providers bring every wire shape into this form.
 */
export const TOKEN_BUCKETS = [
  'input',
  'cached_read',
  'cache_write_5m',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'output',
  'reasoning',
  'audio_output',
  'image_output',
  'citation',
] as const;
export type TokenBucket = (typeof TOKEN_BUCKETS)[number];

/** `input` and `output` are plain text tokens; the other buckets are what the provider names apart. */
export interface Usage extends Record<TokenBucket, number> {
  /** Audio billed by its duration instead of tokens. */
  audio_milliseconds: number;
  /** Web searches that really ran (declared but unused tools are not counted). */
  web_searches: number;
  /** Calls of a kind that carries a per-request fee (the search-context size chosen), else null. */
  search_context: 'low' | 'medium' | 'high' | null;
}

const INPUT_BUCKETS: readonly TokenBucket[] = [
  'input',
  'cached_read',
  'cache_write_5m',
  'cache_write_1h',
  'audio_input',
  'image_input',
];
const OUTPUT_BUCKETS: readonly TokenBucket[] = [
  'output',
  'reasoning',
  'audio_output',
  'image_output',
  'citation',
];

export function emptyUsage(): Usage {
  return {
    input: 0,
    cached_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    audio_input: 0,
    image_input: 0,
    output: 0,
    reasoning: 0,
    audio_output: 0,
    image_output: 0,
    citation: 0,
    audio_milliseconds: 0,
    web_searches: 0,
    search_context: null,
  };
}

export function tokensInput(usage: Usage): number {
  return INPUT_BUCKETS.reduce((sum, bucket) => sum + usage[bucket], 0);
}

export function tokensOutput(usage: Usage): number {
  return OUTPUT_BUCKETS.reduce((sum, bucket) => sum + usage[bucket], 0);
}

/** What the provider says about how the exchange was served, beyond its tokens; it decides the rate. */
export interface ServedTerms {
  /** `flex`, `priority`, `batch`, `fast`; null is the standard tier. */
  tier: 'flex' | 'priority' | 'batch' | 'fast' | null;
  /** Region surcharge key such as `us`; null for none. */
  region: string | null;
}
