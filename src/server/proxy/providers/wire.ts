import type { ServedTerms, Usage } from '../../domain/usage.ts';
import type { SkimmedDocument } from '../tap/json-skimmer.ts';
import type { SkimNode } from '../tap/skim-shape.ts';

/** The three wire shapes; a provider may speak more than one (Gemini and DeepSeek offer others' shapes too). */
export type Wire = 'openai' | 'anthropic' | 'gemini';

export interface WireFindings {
  usage: Usage | null;
  /** False when only the input side of `usage` is final, as in an Anthropic stream cut short. */
  outputReported: boolean;
  modelServed: string | null;
  terms: ServedTerms;
  /** The event that ends a stream of this shape was seen. */
  terminal: boolean;
  streamError: string | null;
  anomalies: string[];
}

/** Takes in the documents of one response, in order, and says what they amount to. */
export interface WireReader {
  readonly shape: SkimNode;
  /** The event that ends a stream of this shape was seen. */
  readonly terminal: boolean;
  /** False when the text gathered from this document is not text of the output after all. */
  take(document: SkimmedDocument): boolean;
  /** The output tokens are known: the text of the output is not needed for an estimate any more. */
  outputKnown(): boolean;
  findings(): WireFindings;
}
