/**
 * What the simulated provider bills for one call, in its own neutral terms. Each provider file turns this
 * into that provider's wire fields, so a test that compares these numbers with a ledger checks the
 * gateway's reading of the wire and not a copy of it.
 */
export interface SimUsage {
  /** Fresh input: neither read from nor written to a cache. Audio and image input are part of it. */
  inputTokens: number;
  cachedTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
  /** Gemini only: prompt tokens of tool results, reported beside the prompt. */
  toolUseTokens: number;
  audioInputTokens: number;
  imageInputTokens: number;
  /** All output; reasoning, audio, image and rejected predictions are part of it. */
  outputTokens: number;
  reasoningTokens: number;
  audioOutputTokens: number;
  imageOutputTokens: number;
  acceptedPredictionTokens: number;
  rejectedPredictionTokens: number;
  webSearches: number;
  webFetches: number;
  audioSeconds: number;
}

export const NO_USAGE: Readonly<SimUsage> = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  toolUseTokens: 0,
  audioInputTokens: 0,
  imageInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  imageOutputTokens: 0,
  acceptedPredictionTokens: 0,
  rejectedPredictionTokens: 0,
  webSearches: 0,
  webFetches: 0,
  audioSeconds: 0,
};

const USAGE_FIELDS = Object.keys(NO_USAGE) as (keyof SimUsage)[];

export function addUsage(total: SimUsage, more: SimUsage): void {
  for (const field of USAGE_FIELDS) total[field] += more[field];
}

/** Everything that went in, however it was cached. */
export function promptTokens(usage: SimUsage): number {
  return usage.inputTokens + usage.cachedTokens + usage.cacheWrite5mTokens + usage.cacheWrite1hTokens;
}

/** The bill of a stream that stopped early: the whole input, and the output generated until then. */
export function usageUntil(usage: SimUsage, outputTokens: number): SimUsage {
  const output = Math.min(outputTokens, usage.outputTokens);
  return {
    ...usage,
    outputTokens: output,
    // Reasoning comes before the visible text, so it is the part of the output that exists first.
    reasoningTokens: Math.min(usage.reasoningTokens, output),
    audioOutputTokens: Math.min(usage.audioOutputTokens, output),
    imageOutputTokens: Math.min(usage.imageOutputTokens, output),
    acceptedPredictionTokens: Math.min(usage.acceptedPredictionTokens, output),
    rejectedPredictionTokens: Math.min(usage.rejectedPredictionTokens, output),
  };
}
