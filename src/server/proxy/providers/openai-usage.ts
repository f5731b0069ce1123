import { emptyUsage, type ServedTerms, type Usage } from '../../domain/usage.ts';
import { asObject, type CountReader, type JsonObject } from './counts.ts';

/** Endpoints whose output tokens are all of one kind when the provider does not break them down. */
const IMAGE_OUTPUT = new Set(['images.generations', 'images.edits', 'images.variations']);
const AUDIO_OUTPUT = new Set(['audio.speech']);
const AUDIO_INPUT = new Set(['audio.transcriptions', 'audio.translations']);

/**
 * Brings a usage object of the OpenAI family (chat, responses, images, audio, and the dialects of the
 * compatible servers) into disjoint buckets. Null when it states nothing that can be billed.
 */
export function openaiUsage(raw: JsonObject, endpoint: string, counts: CountReader): Usage | null {
  const usage = emptyUsage();
  const durationMs = counts.milliseconds(raw.type === 'duration' ? raw.seconds : undefined, 'seconds');
  // Mistral states audio beside the text tokens, in seconds.
  const promptAudio = typeof raw.prompt_audio_seconds === 'number' ? raw.prompt_audio_seconds : undefined;
  const promptAudioMs = counts.milliseconds(promptAudio, 'prompt_audio_seconds');
  usage.audio_milliseconds = durationMs ?? promptAudioMs ?? 0;

  const output = counts.tokens(raw, 'completion_tokens', 'output_tokens');
  const input = inputTokens(raw, output, counts);
  if (input === null && output === null && durationMs === null && promptAudioMs === null) return null;
  splitInput(usage, raw, input ?? 0, endpoint, counts);
  splitOutput(usage, raw, input ?? 0, output ?? 0, endpoint, counts);

  usage.citation = counts.tokens(raw, 'citation_tokens') ?? 0;
  usage.web_searches = counts.tokens(raw, 'num_search_queries') ?? 0;
  const size = raw.search_context_size;
  if (size === 'low' || size === 'medium' || size === 'high') usage.search_context = size;
  return usage;
}

function inputTokens(raw: JsonObject, output: number | null, counts: CountReader): number | null {
  const stated = counts.tokens(raw, 'prompt_tokens', 'input_tokens');
  if (stated !== null) return stated;
  const hit = counts.tokens(raw, 'prompt_cache_hit_tokens');
  const miss = counts.tokens(raw, 'prompt_cache_miss_tokens');
  if (hit !== null || miss !== null) return (hit ?? 0) + (miss ?? 0);
  // Some embedding servers state nothing but the total, which is then all input.
  return output === null ? counts.tokens(raw, 'total_tokens') : null;
}

/** The total includes reads from the cache, writes to it, and every modality. */
function splitInput(
  usage: Usage,
  raw: JsonObject,
  total: number,
  endpoint: string,
  counts: CountReader,
): void {
  const details = detailsOf(raw, 'prompt_tokens_details', 'input_tokens_details', 'input_token_details');
  const cachedDetails = asObject(details?.cached_tokens_details);
  const cached =
    counts.tokens(raw, 'prompt_cache_hit_tokens') ??
    counts.tokens(details, 'cached_tokens') ??
    counts.tokens(raw, 'cached_tokens') ??
    0;
  usage.cached_read = counts.within(cached, total, 'cached exceeds input');
  let rest = total - usage.cached_read;
  const written = counts.tokens(details, 'cache_write_tokens') ?? 0;
  usage.cache_write_5m = counts.within(written, rest, 'cache writes exceed input');
  rest -= usage.cache_write_5m;

  let audio = counts.tokens(details, 'audio_tokens');
  if (audio === null && details === null && AUDIO_INPUT.has(endpoint)) audio = total;
  audio = counts.within(audio ?? 0, total, 'audio exceeds input');
  // What was read from the cache stands in its own bucket already, whatever its modality.
  const freshAudio = audio - Math.min(audio, counts.tokens(cachedDetails, 'audio_tokens') ?? 0);
  usage.audio_input = Math.min(freshAudio, rest);
  rest -= usage.audio_input;
  const image = counts.within(counts.tokens(details, 'image_tokens') ?? 0, total, 'images exceed input');
  const freshImage = image - Math.min(image, counts.tokens(cachedDetails, 'image_tokens') ?? 0);
  usage.image_input = Math.min(freshImage, rest);
  usage.input = rest - usage.image_input;
}

function splitOutput(
  usage: Usage,
  raw: JsonObject,
  input: number,
  stated: number,
  endpoint: string,
  counts: CountReader,
): void {
  const details = detailsOf(
    raw,
    'completion_tokens_details',
    'output_tokens_details',
    'output_token_details',
  );
  const reasoning = counts.tokens(details, 'reasoning_tokens') ?? counts.tokens(raw, 'reasoning_tokens') ?? 0;
  const total = reasoningStandsApart(raw, input, stated, reasoning, counts) ? stated + reasoning : stated;
  usage.reasoning = counts.within(reasoning, total, 'reasoning exceeds output');
  let rest = total - usage.reasoning;
  const allAudio = AUDIO_OUTPUT.has(endpoint) && details === null;
  const allImage = IMAGE_OUTPUT.has(endpoint) && details === null;
  const audio = allAudio ? rest : (counts.tokens(details, 'audio_tokens') ?? 0);
  usage.audio_output = counts.within(audio, rest, 'audio exceeds output');
  rest -= usage.audio_output;
  const image = allImage ? rest : (counts.tokens(details, 'image_tokens') ?? 0);
  usage.image_output = counts.within(image, rest, 'images exceed output');
  usage.output = rest - usage.image_output;
}

/**
 * Reasoning is part of the output count, except where the figures say otherwise: deep research reports it
 * beside citations, and some servers (xAI) only reach their own total when it is added.
 */
function reasoningStandsApart(
  raw: JsonObject,
  input: number,
  output: number,
  reasoning: number,
  counts: CountReader,
): boolean {
  if (reasoning === 0) return false;
  if (typeof raw.reasoning_tokens === 'number' && typeof raw.citation_tokens === 'number') return true;
  return counts.tokens(raw, 'total_tokens') === input + output + reasoning;
}

function detailsOf(raw: JsonObject, ...names: readonly string[]): JsonObject | null {
  for (const name of names) {
    const details = asObject(raw[name]);
    if (details !== null) return details;
  }
  return null;
}

const STANDARD_TIERS = new Set(['default', 'auto', 'standard', 'on_demand', 'performance', 'scale']);

/** `fast` is another name of priority here; `ultrafast`, a tier above it, is priced under `fast`. */
export function openaiTier(value: unknown, counts: CountReader): ServedTerms['tier'] {
  if (typeof value !== 'string' || STANDARD_TIERS.has(value)) return null;
  if (value === 'flex' || value === 'batch' || value === 'priority') return value;
  if (value === 'fast') return 'priority';
  if (value === 'ultrafast') return 'fast';
  counts.note('unknown service tier');
  return null;
}
