import type { ServedTerms, Usage } from '../../domain/usage.ts';
import type { SkimmedDocument } from '../tap/json-skimmer.ts';
import { compileShape } from '../tap/skim-shape.ts';
import { asObject, CountReader, cleanName, errorText, type JsonObject } from './counts.ts';
import { geminiUsage, statesOutput } from './gemini-usage.ts';
import { choicesOf, outputCapOf, type RequestFacts } from './request-facts.ts';
import type { WireFindings, WireReader } from './wire.ts';

export const GEMINI_REQUEST = compileShape(
  [
    'model',
    'agent',
    'stream',
    'serviceTier',
    'service_tier',
    'generationConfig.maxOutputTokens',
    'generationConfig.candidateCount',
    'generationConfig.max_output_tokens',
    'generationConfig.candidate_count',
    'generation_config.maxOutputTokens',
    'generation_config.candidateCount',
    'generation_config.max_output_tokens',
    'generation_config.candidate_count',
  ],
  [],
);

/** This wire accepts every field in camel and in snake case. */
export function geminiRequest(values: Readonly<Record<string, unknown>>): Partial<RequestFacts> {
  const named = cleanName(values.model) ?? cleanName(values.agent);
  return {
    modelRequested: named?.replace(/^models\//, '') ?? null,
    stream: values.stream === true,
    outputCap: outputCapOf(
      values['generationConfig.maxOutputTokens'],
      values['generationConfig.max_output_tokens'],
      values['generation_config.maxOutputTokens'],
      values['generation_config.max_output_tokens'],
    ),
    choices: choicesOf(
      values['generationConfig.candidateCount'],
      values['generationConfig.candidate_count'],
      values['generation_config.candidateCount'],
      values['generation_config.candidate_count'],
    ),
    tierRequested: tierOf(values.serviceTier ?? values.service_tier),
  };
}

const RESPONSE = compileShape(
  [
    'usageMetadata',
    'modelVersion',
    'error',
    'promptFeedback.blockReason',
    'candidates[].finishReason',
    'candidates[].groundingMetadata.webSearchQueries',
    'event_type',
    'usage',
    'model',
    'interaction.usage',
    'interaction.model',
    'interaction.status',
  ],
  ['candidates[].content.parts[].text', 'outputs[].text', 'delta.text', 'steps[].content[].text'],
);

/** Reads generateContent and Interactions responses: whole, as event streams, or as a streamed JSON array. */
export class GeminiReader implements WireReader {
  readonly shape = RESPONSE;
  private readonly counts = new CountReader();
  private readonly tierHeader: string | undefined;
  private readonly modelRequested: string | null;
  private reported: JsonObject | null = null;
  private modelServed: string | null = null;
  terminal = false;
  private streamError: string | null = null;
  private queries = 0;

  constructor(modelRequested: string | null, tierHeader: string | undefined) {
    this.modelRequested = modelRequested;
    this.tierHeader = tierHeader;
  }

  /** Usage is cumulative: the last one stated counts, and a chunk without any leaves it alone. */
  take({ values }: SkimmedDocument): boolean {
    const stated = values.usageMetadata ?? values['interaction.usage'] ?? values.usage;
    this.reported = asObject(stated) ?? this.reported;
    const model = values.modelVersion ?? values['interaction.model'] ?? values.model;
    this.modelServed = cleanName(model)?.replace(/^models\//, '') ?? this.modelServed;
    for (const queries of listOf(values['candidates[].groundingMetadata.webSearchQueries'])) {
      this.queries = Math.max(this.queries, listOf(queries).length);
    }
    if (listOf(values['candidates[].finishReason']).some((reason) => typeof reason === 'string')) {
      this.terminal = true;
    }
    if (values['promptFeedback.blockReason'] !== undefined) this.terminal = true;
    if (values.event_type === 'interaction.completed') this.terminal = true;
    if (values.error !== undefined) this.streamError ??= errorText(values.error);
    return true;
  }

  outputKnown(): boolean {
    return this.reported !== null && statesOutput(this.reported);
  }

  findings(): WireFindings {
    const usage = this.reported === null ? null : geminiUsage(this.reported, this.counts);
    if (usage !== null) usage.web_searches = Math.max(usage.web_searches, this.billedSearches(usage));
    return {
      usage,
      // A blocked prompt has no output and says so by leaving the field out.
      outputReported: usage !== null && (this.outputKnown() || this.terminal),
      modelServed: this.modelServed,
      terms: this.terms(),
      terminal: this.terminal,
      streamError: this.streamError,
      anomalies: this.counts.anomalies,
    };
  }

  /** Up to the 2.x models a grounded prompt is billed once, whatever number of queries it made. */
  private billedSearches(usage: Usage): number {
    if (this.queries === 0) return usage.web_searches;
    const model = this.modelServed ?? this.modelRequested ?? '';
    return /^gemini-[12](\.|-)/.test(model) ? 1 : this.queries;
  }

  private terms(): ServedTerms {
    const traffic = this.reported?.trafficType;
    const stated = this.tierHeader ?? this.reported?.serviceTier;
    const byTraffic = typeof traffic === 'string' ? traffic.replace(/^ON_DEMAND_/, '') : null;
    return { tier: tierOf(stated ?? byTraffic), region: null };
  }
}

function tierOf(value: unknown): ServedTerms['tier'] {
  const tier = typeof value === 'string' ? value.trim().toLowerCase() : null;
  return tier === 'flex' || tier === 'priority' || tier === 'batch' ? tier : null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
