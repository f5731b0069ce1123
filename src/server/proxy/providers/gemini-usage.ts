import { emptyUsage, type Usage } from '../../domain/usage.ts';
import { asObject, type CountReader, type JsonObject } from './counts.ts';

/** The same figures under the names of generateContent and of the Interactions API. */
const NAMES = {
  prompt: ['promptTokenCount', 'total_input_tokens'],
  cached: ['cachedContentTokenCount', 'total_cached_tokens'],
  candidates: ['candidatesTokenCount', 'responseTokenCount', 'total_output_tokens'],
  thoughts: ['thoughtsTokenCount', 'total_thought_tokens'],
  toolUse: ['toolUsePromptTokenCount', 'total_tool_use_tokens'],
  total: ['totalTokenCount', 'total_tokens'],
  promptDetails: ['promptTokensDetails', 'input_tokens_by_modality'],
  cachedDetails: ['cacheTokensDetails', 'cached_tokens_by_modality'],
  toolUseDetails: ['toolUsePromptTokensDetails', 'tool_use_tokens_by_modality'],
  outputDetails: ['candidatesTokensDetails', 'responseTokensDetails', 'output_tokens_by_modality'],
} as const;

/** Fields with a zero are left out on this wire; null only when not one figure is there. */
export function geminiUsage(raw: JsonObject, counts: CountReader): Usage | null {
  const stated = {
    prompt: counts.tokens(raw, ...NAMES.prompt),
    candidates: counts.tokens(raw, ...NAMES.candidates),
    thoughts: counts.tokens(raw, ...NAMES.thoughts),
    toolUse: counts.tokens(raw, ...NAMES.toolUse) ?? 0,
    total: counts.tokens(raw, ...NAMES.total),
  };
  const usage = emptyUsage();
  if (stated.prompt === null && stated.candidates === null && stated.thoughts === null) {
    // Creating a cache states only a total, all of it input.
    if (stated.total === null) return null;
    usage.input = stated.total;
    return usage;
  }
  splitInput(usage, raw, stated.prompt ?? 0, stated.toolUse, counts);
  splitOutput(usage, raw, stated, counts);
  usage.web_searches = groundingSearches(raw, counts);
  return usage;
}

/** True when the figures include the output, which older models add on their last chunk only. */
export function statesOutput(raw: JsonObject): boolean {
  return [...NAMES.candidates, ...NAMES.thoughts].some((name) => typeof raw[name] === 'number');
}

function splitInput(
  usage: Usage,
  raw: JsonObject,
  prompt: number,
  toolUse: number,
  counts: CountReader,
): void {
  const cached = counts.tokens(raw, ...NAMES.cached) ?? 0;
  usage.cached_read = counts.within(cached, prompt, 'cached exceeds input');
  let rest = prompt - usage.cached_read + toolUse;
  const fresh = (modality: string): number => {
    const all = modalityTokens(raw, NAMES.promptDetails, modality, counts);
    const fromCache = modalityTokens(raw, NAMES.cachedDetails, modality, counts);
    const fromTools = modalityTokens(raw, NAMES.toolUseDetails, modality, counts);
    return Math.max(0, all - fromCache) + fromTools;
  };
  usage.audio_input = counts.within(fresh('AUDIO'), rest, 'audio exceeds input');
  rest -= usage.audio_input;
  usage.image_input = counts.within(fresh('IMAGE'), rest, 'images exceed input');
  usage.input = rest - usage.image_input;
}

interface Stated {
  prompt: number | null;
  candidates: number | null;
  thoughts: number | null;
  toolUse: number;
  total: number | null;
}

/** Thoughts stand beside the candidates, or inside them: only the total tells which. */
function splitOutput(usage: Usage, raw: JsonObject, stated: Stated, counts: CountReader): void {
  const candidates = stated.candidates ?? 0;
  const thoughts = stated.thoughts ?? 0;
  const withoutThoughts = (stated.prompt ?? 0) + stated.toolUse + candidates;
  const inclusive = thoughts > 0 && candidates > 0 && stated.total === withoutThoughts;
  let rest = candidates;
  usage.reasoning = thoughts;
  if (inclusive) {
    usage.reasoning = counts.within(thoughts, candidates, 'reasoning exceeds output');
    rest -= usage.reasoning;
  } else if (stated.thoughts === null && stated.total !== null && stated.total > withoutThoughts) {
    // The total counts thinking that is not named; it is billed as such.
    counts.note('total exceeds its parts');
    usage.reasoning = stated.total - withoutThoughts;
  }
  const audio = modalityTokens(raw, NAMES.outputDetails, 'AUDIO', counts);
  usage.audio_output = counts.within(audio, rest, 'audio exceeds output');
  rest -= usage.audio_output;
  const image = modalityTokens(raw, NAMES.outputDetails, 'IMAGE', counts);
  usage.image_output = counts.within(image, rest, 'images exceed output');
  usage.output = rest - usage.image_output;
}

function modalityTokens(
  raw: JsonObject,
  names: readonly string[],
  modality: string,
  counts: CountReader,
): number {
  let tokens = 0;
  for (const entry of entriesOf(raw, names)) {
    if (typeof entry.modality !== 'string' || entry.modality.toUpperCase() !== modality) continue;
    tokens += counts.tokens(entry, 'tokenCount', 'tokens') ?? 0;
  }
  return tokens;
}

function groundingSearches(raw: JsonObject, counts: CountReader): number {
  let searches = 0;
  for (const entry of entriesOf(raw, ['grounding_tool_count'])) {
    if (entry.type === 'google_search') searches += counts.tokens(entry, 'count') ?? 0;
  }
  return searches;
}

function entriesOf(raw: JsonObject, names: readonly string[]): JsonObject[] {
  const list = names.map((name) => raw[name]).find((value) => Array.isArray(value));
  return ((list as unknown[] | undefined) ?? []).map(asObject).filter((entry) => entry !== null);
}
