import { emptyUsage, type ServedTerms, type Usage } from '../../domain/usage.ts';
import type { SkimmedDocument } from '../tap/json-skimmer.ts';
import { compileShape } from '../tap/skim-shape.ts';
import { asObject, CountReader, cleanName, errorText } from './counts.ts';
import { openaiTier, openaiUsage } from './openai-usage.ts';
import { choicesOf, outputCapOf, type RequestFacts } from './request-facts.ts';
import type { WireFindings, WireReader } from './wire.ts';

export const OPENAI_REQUEST = compileShape(
  [
    'model',
    'stream',
    'stream_format',
    'stream_options.include_usage',
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'n',
    'best_of',
    'service_tier',
  ],
  [],
);

/** Fills the body's part of the facts; `values` come from JSON or from multipart fields alike. */
export function openaiRequest(values: Readonly<Record<string, unknown>>): Partial<RequestFacts> {
  return {
    modelRequested: cleanName(values.model),
    stream: values.stream === true || values.stream_format === 'sse',
    streamUsageAsked: values['stream_options.include_usage'] === true,
    outputCap: outputCapOf(values.max_tokens, values.max_completion_tokens, values.max_output_tokens),
    choices: choicesOf(values.n, values.best_of),
    tierRequested: openaiTier(values.service_tier, new CountReader()),
  };
}

const RESPONSE = compileShape(
  [
    'type',
    'model',
    'status',
    'service_tier',
    'usage',
    'error',
    'message',
    'code',
    'duration',
    'x_groq.usage',
    'x_groq.error',
    'choices[].finish_reason',
    'choices[].usage',
    'choices[].message.annotations[].type',
    'choices[].delta.annotations[].type',
    'tool_usage',
    'output[].type',
    'output[].action.type',
    'response.model',
    'response.status',
    'response.service_tier',
    'response.usage',
    'response.error',
    'response.tool_usage',
    'response.output[].type',
    'response.output[].action.type',
  ],
  [
    'choices[].delta.content',
    'choices[].delta.reasoning_content',
    'choices[].delta.reasoning',
    'choices[].delta.refusal',
    'choices[].delta.tool_calls[].function.name',
    'choices[].delta.tool_calls[].function.arguments',
    'choices[].message.content',
    'choices[].message.reasoning_content',
    'choices[].message.tool_calls[].function.arguments',
    'choices[].text',
    'output[].content[].text',
    'output[].arguments',
    'delta',
  ],
);

const TERMINAL_EVENTS = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'image_generation.completed',
  'image_edit.completed',
  'transcript.text.done',
  'speech.audio.done',
]);
/** Web actions that look at a page already found; only searching is billed. */
const FREE_WEB_ACTIONS = new Set(['open_page', 'find_in_page', 'find']);

/** Reads responses of the OpenAI family: chat, completions, responses, embeddings, images, audio. */
export class OpenaiReader implements WireReader {
  readonly shape = RESPONSE;
  private readonly endpoint: string;
  private readonly counts = new CountReader();
  private usage: Usage | null = null;
  private modelServed: string | null = null;
  private tier: unknown = null;
  terminal = false;
  private finished = false;
  private streamError: string | null = null;
  private webSearches = 0;
  private pending = false;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  take({ values }: SkimmedDocument): boolean {
    const model = values['response.model'] ?? values.model;
    if (model !== undefined && this.modelServed === null) this.modelServed = cleanName(model);
    this.tier = values['response.service_tier'] ?? values.service_tier ?? this.tier;
    this.takeUsage(values);
    if (mentionsSearches(values)) this.takeSearches(values);
    this.takeEnd(values);
    // Audio comes as base64 in the very field that holds text elsewhere.
    return typeof values.type !== 'string' || !values.type.endsWith('audio.delta');
  }

  outputKnown(): boolean {
    return this.usage !== null;
  }

  findings(): WireFindings {
    // A search context size means the search is in the request fee already.
    if (this.usage?.search_context === null && this.webSearches > this.usage.web_searches) {
      this.usage.web_searches = this.webSearches;
    }
    if (this.pending && this.usage === null) this.counts.note('runs in the background, usage not yet known');
    const terms: ServedTerms = { tier: openaiTier(this.tier, this.counts), region: null };
    return {
      usage: this.usage,
      outputReported: this.usage !== null,
      modelServed: this.modelServed,
      terms,
      terminal: this.terminal || (this.finished && this.usage !== null),
      streamError: this.streamError,
      anomalies: this.counts.anomalies,
    };
  }

  /** Servers repeat the usage, cumulatively or in two places (Groq): the latest counts, nothing is added. */
  private takeUsage(values: SkimmedDocument['values']): void {
    const inChoices = values['choices[].usage'];
    const stated =
      values['response.usage'] ??
      values.usage ??
      values['x_groq.usage'] ??
      (Array.isArray(inChoices) ? inChoices.at(-1) : undefined);
    const raw = asObject(stated);
    const usage =
      raw === null ? this.durationUsage(values.duration) : openaiUsage(raw, this.endpoint, this.counts);
    if (usage === null) return;
    this.usage = usage;
  }

  /** Transcripts without a usage object state the length of the audio that is billed. */
  private durationUsage(duration: unknown): Usage | null {
    if (!this.endpoint.startsWith('audio.') || typeof duration !== 'number') return null;
    const audioMs = this.counts.milliseconds(duration, 'duration');
    return audioMs === null ? null : { ...emptyUsage(), audio_milliseconds: audioMs };
  }

  private takeSearches(values: SkimmedDocument['values']): void {
    const toolUsage = asObject(values['response.tool_usage'] ?? values.tool_usage);
    const billable = this.counts.tokens(asObject(toolUsage?.web_search), 'num_requests');
    const imageTokens = this.counts.tokens(asObject(toolUsage?.image_gen), 'total_tokens');
    if (imageTokens) this.counts.note('image generation inside the response is billed apart');
    const items = listOf(values['response.output[].type'] ?? values['output[].type']);
    const actions = listOf(values['response.output[].action.type'] ?? values['output[].action.type']);
    const calls = items.filter((type) => type === 'web_search_call').length;
    const freeCalls = actions.filter((type) => FREE_WEB_ACTIONS.has(String(type))).length;
    const annotations = [
      ...listOf(values['choices[].message.annotations[].type']),
      ...listOf(values['choices[].delta.annotations[].type']),
    ];
    // A chat answer that cites pages searched once; without citations nothing shows that it did.
    const cited = annotations.includes('url_citation') ? 1 : 0;
    this.webSearches = Math.max(this.webSearches, cited, billable ?? Math.max(0, calls - freeCalls));
  }

  private takeEnd(values: SkimmedDocument['values']): void {
    const type = typeof values.type === 'string' ? values.type : '';
    if (TERMINAL_EVENTS.has(type)) this.terminal = true;
    if (listOf(values['choices[].finish_reason']).some((reason) => reason !== null)) this.finished = true;
    const status = values['response.status'] ?? values.status;
    if (status !== undefined) this.pending = status === 'queued' || status === 'in_progress';
    const error =
      type === 'error' && values.error === undefined
        ? errorText({ code: values.code, message: values.message })
        : errorText(values['response.error'] ?? values.error ?? values['x_groq.error']);
    this.streamError ??= error;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function mentionsSearches(values: SkimmedDocument['values']): boolean {
  return (
    values['output[].type'] !== undefined ||
    values['response.output[].type'] !== undefined ||
    values.tool_usage !== undefined ||
    values['response.tool_usage'] !== undefined ||
    values['choices[].message.annotations[].type'] !== undefined ||
    values['choices[].delta.annotations[].type'] !== undefined
  );
}
