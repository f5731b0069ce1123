import type { Json } from './json.ts';
import type { Bill } from './reply.ts';
import type { SimRequest } from './request.ts';
import type { SimRule } from './rule.ts';
import { servedModel } from './served-model.ts';
import { cutText, MAX_TEXT_WORDS, textOfTokens } from './text.ts';
import { NO_USAGE, type SimUsage } from './usage.ts';

/** Four bytes of prose are one token: coarse, but the same everywhere and easy to repeat in a test. */
const BYTES_PER_TOKEN = 4;
const DEFAULT_OUTPUT_TOKENS = 16;
/** With a seed, outputs spread over 1..this. */
const MAX_SEEDED_OUTPUT_TOKENS = 256;
const MAX_DEFAULT_CHUNKS = 64;

/** One simulated inference: what was asked, what is served, what it uses, what it says. */
export interface Generation extends Bill {
  readonly tier: string | null;
  readonly text: string;
  /** The cap ended the output, so the shape must say "length" and not "stop". */
  readonly capped: boolean;
  readonly rule: SimRule;
}

export interface Piece {
  readonly text: string;
  readonly outputTokens: number;
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function generate(
  request: SimRequest,
  asked: { model: string; inputTokens: number; capTokens: number | null; choices?: number },
): Generation {
  const { rule } = request;
  const choices = asked.choices ?? 1;
  const usage: SimUsage = { ...NO_USAGE, inputTokens: Math.max(1, asked.inputTokens) };
  usage.outputTokens = outputTokens(request, asked.capTokens) * choices;
  Object.assign(usage, rule.usage);
  const spoken =
    usage.outputTokens - usage.reasoningTokens - usage.audioOutputTokens - usage.imageOutputTokens;
  return {
    requestedModel: asked.model,
    servedModel: rule.model ?? servedModel(asked.model),
    usage,
    tier: rule.tier ?? null,
    text: rule.text ?? textOfTokens(Math.min(MAX_TEXT_WORDS, Math.floor(spoken / choices))),
    capped: asked.capTokens !== null && usage.outputTokens >= asked.capTokens * choices,
    rule,
  };
}

function outputTokens(request: SimRequest, capTokens: number | null): number {
  if (request.rule.billExactlyCap && capTokens !== null) return capTokens;
  const tokens =
    request.seed === null
      ? DEFAULT_OUTPUT_TOKENS
      : 1 + (fingerprint(request.body, request.seed) % MAX_SEEDED_OUTPUT_TOKENS);
  return capTokens === null ? tokens : Math.min(tokens, capTokens);
}

/** FNV-1a over the body: the same request gets the same answer whatever came before or beside it. */
function fingerprint(body: Buffer, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const byte of body.subarray(0, 4_096)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The text deltas of a stream, each with the output tokens that exist once it is sent. */
export function pieces(generation: Generation): Piece[] {
  const { usage, rule, text } = generation;
  const spoken = usage.outputTokens - usage.reasoningTokens;
  const cut = cutText(text, rule.chunks ?? Math.max(1, Math.min(spoken, MAX_DEFAULT_CHUNKS)));
  return cut.map((piece, index) => ({
    text: piece,
    outputTokens: usage.reasoningTokens + Math.round((spoken * (index + 1)) / cut.length),
  }));
}

/** The usage as the reply reports it: the scripted one as it stands, nothing, or the provider's shape of the bill. */
export function reportedUsage(generation: Generation, shape: (usage: SimUsage) => Json): Json | undefined {
  if (generation.rule.rawUsage !== undefined) return generation.rule.rawUsage;
  return generation.rule.fault === 'no_usage' ? undefined : shape(generation.usage);
}
