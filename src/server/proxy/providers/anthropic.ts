import { emptyUsage, type ServedTerms, type Usage } from '../../domain/usage.ts';
import type { SkimmedDocument } from '../tap/json-skimmer.ts';
import { compileShape } from '../tap/skim-shape.ts';
import { asObject, CountReader, cleanName, errorText, type JsonObject } from './counts.ts';
import { outputCapOf, type RequestFacts } from './request-facts.ts';
import type { WireFindings, WireReader } from './wire.ts';

export const ANTHROPIC_REQUEST = compileShape(
  ['model', 'stream', 'max_tokens', 'max_tokens_to_sample', 'speed', 'inference_geo'],
  [],
);

export function anthropicRequest(values: Readonly<Record<string, unknown>>): Partial<RequestFacts> {
  return {
    modelRequested: cleanName(values.model),
    stream: values.stream === true,
    outputCap: outputCapOf(values.max_tokens, values.max_tokens_to_sample),
    tierRequested: values.speed === 'fast' ? 'fast' : null,
    regionRequested: regionOf(values.inference_geo),
  };
}

const RESPONSE = compileShape(
  ['type', 'model', 'usage', 'message.model', 'message.usage', 'error'],
  [
    'content[].text',
    'content[].thinking',
    'delta.text',
    'delta.thinking',
    'delta.partial_json',
    'content_block.name',
  ],
);

/** Reads Messages responses, whole or streamed. */
export class AnthropicReader implements WireReader {
  readonly shape = RESPONSE;
  private readonly counts = new CountReader();
  /** The usage as last stated, member by member. */
  private reported: Record<string, unknown> | null = null;
  private outputReported = false;
  private modelServed: string | null = null;
  terminal = false;
  private streamError: string | null = null;

  take({ values }: SkimmedDocument): boolean {
    this.modelServed ??= cleanName(values['message.model'] ?? values.model);
    this.merge(asObject(values['message.usage']));
    const usage = asObject(values.usage);
    if (usage !== null) {
      this.merge(usage);
      // message_start holds a placeholder; a whole message and message_delta hold the real count.
      if (this.counts.tokens(usage, 'output_tokens') !== null) this.outputReported = true;
    }
    if (values.type === 'message_stop') this.terminal = true;
    if (values.error !== undefined) this.streamError ??= errorText(values.error);
    return true;
  }

  outputKnown(): boolean {
    return this.outputReported;
  }

  findings(): WireFindings {
    return {
      usage: this.reported === null ? null : anthropicUsage(this.reported, this.counts),
      outputReported: this.outputReported,
      modelServed: this.modelServed,
      terms: this.terms(),
      terminal: this.terminal,
      streamError: this.streamError,
      anomalies: this.counts.anomalies,
    };
  }

  /** Counts in a stream are cumulative: what is stated later replaces, what is left out stays. */
  private merge(usage: JsonObject | null): void {
    if (usage === null) return;
    this.reported ??= {};
    for (const [name, value] of Object.entries(usage)) {
      if (value !== null) this.reported[name] = value;
    }
  }

  /** `priority` is capacity paid for in advance, so its tokens are counted at the standard rates. */
  private terms(): ServedTerms {
    const region = regionOf(this.reported?.inference_geo);
    if (this.reported?.speed === 'fast') return { tier: 'fast', region };
    return { tier: this.reported?.service_tier === 'batch' ? 'batch' : null, region };
  }
}

function anthropicUsage(raw: JsonObject, counts: CountReader): Usage | null {
  const usage = emptyUsage();
  if (!addTokens(usage, raw, counts)) return null;
  usage.web_searches = counts.tokens(asObject(raw.server_tool_use), 'web_search_requests') ?? 0;
  // The message's own figures leave out what summarising the context cost; it ran on the same model.
  for (const entry of Array.isArray(raw.iterations) ? raw.iterations : []) {
    const iteration = asObject(entry);
    if (iteration?.type === 'compaction') addTokens(usage, iteration, counts);
    if (iteration?.type === 'advisor_message') counts.note('an advising model is billed apart');
  }
  return usage;
}

/** Input excludes both cache counts here, so the buckets are as stated; only the write total is split. */
function addTokens(usage: Usage, raw: JsonObject, counts: CountReader): boolean {
  const input = counts.tokens(raw, 'input_tokens');
  const output = counts.tokens(raw, 'output_tokens');
  if (input === null && output === null) return false;
  usage.input += input ?? 0;
  usage.cached_read += counts.tokens(raw, 'cache_read_input_tokens') ?? 0;

  const split = asObject(raw.cache_creation);
  const stated5m = counts.tokens(split, 'ephemeral_5m_input_tokens') ?? 0;
  const stated1h = counts.tokens(split, 'ephemeral_1h_input_tokens') ?? 0;
  const written = counts.tokens(raw, 'cache_creation_input_tokens') ?? stated5m + stated1h;
  if (stated5m + stated1h > written) counts.note('cache write split exceeds its total');
  const written1h = Math.min(stated1h, written);
  usage.cache_write_1h += written1h;
  // A stream states the split once at its start and the total again later: the growth is the default kind.
  usage.cache_write_5m += written - written1h;

  const total = output ?? 0;
  const thinking = counts.tokens(asObject(raw.output_tokens_details), 'thinking_tokens') ?? 0;
  const reasoning = counts.within(thinking, total, 'reasoning exceeds output');
  usage.reasoning += reasoning;
  usage.output += total - reasoning;
  return true;
}

function regionOf(geo: unknown): string | null {
  const region = cleanName(geo)?.toLowerCase() ?? null;
  return region === 'global' || region === 'not_available' ? null : region;
}
