import type { ServedTerms } from '../../domain/usage.ts';
import type { Wire } from './wire.ts';

const MAX_OUTPUT_CAP_TOKENS = 10_000_000;
const MAX_CHOICES = 128;

/** What the gateway needs to know about a request before it is forwarded. */
export interface RequestFacts {
  /**
   * `inference` runs a model; `free` is never billed (counting, lists, files); `reread` repeats a stored result
   * whose usage was billed before; `unknown` is anything else: metered if it reports usage, never invisible.
   */
  kind: 'inference' | 'free' | 'reread' | 'unknown';
  /** Short stable name such as `chat.completions`; `other` when the path is not known. */
  endpoint: string;
  wire: Wire;
  modelRequested: string | null;
  stream: boolean;
  /** `stream_options.include_usage` was set; without it an OpenAI chat stream carries no usage. */
  streamUsageAsked: boolean;
  /** The caller's own bound on output tokens of one choice; null when none (or nonsense) was stated. */
  outputCap: number | null;
  choices: number;
  tierRequested: ServedTerms['tier'];
  regionRequested: string | null;
}

export function outputCapOf(...stated: readonly unknown[]): number | null {
  let cap: number | null = null;
  for (const value of stated) {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) continue;
    cap = Math.max(cap ?? 0, Math.min(value, MAX_OUTPUT_CAP_TOKENS));
  }
  return cap;
}

export function choicesOf(...stated: readonly unknown[]): number {
  let choices = 1;
  for (const value of stated) {
    if (typeof value !== 'number' || !Number.isInteger(value)) continue;
    choices = Math.max(choices, Math.min(value, MAX_CHOICES));
  }
  return choices;
}
