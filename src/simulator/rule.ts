import { isObject, type Json, parseObject } from './json.ts';
import type { SimUsage } from './usage.ts';

const FAULTS = [
  /** The connection is reset before a status line. */
  'reset_before_headers',
  /** The connection is reset (RST) after half of the body, or after `faultAfterChunks` frames. */
  'reset_mid_body',
  /** The connection is closed (FIN) after half of the body although more was announced. */
  'half_body',
  /** The content-length is smaller than the body that follows. */
  'wrong_content_length',
  /** Undecodable events between the good ones of a stream; a whole body that is not JSON. */
  'garbage_sse',
  /** Nothing is answered until `release()` or the client leaves. */
  'hang',
  /** The body stops after `faultAfterChunks` frames (default half) until `release()` or the client leaves. */
  'hang_mid_body',
  /** A correct answer that reports no usage; it is billed all the same. */
  'no_usage',
  /** A stream that ends properly, but before its last events. */
  'early_end',
  /** The provider's own error event inside a stream that began with 200. */
  'error_event',
  /** A redirect to `headers.location`. */
  'redirect',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Peculiarities real servers of a provider's shape differ in. */
export type Variant =
  | 'deepseek'
  | 'groq'
  | 'mistral'
  | 'perplexity'
  | 'xai'
  /** prov_b: zeros in message_start, the truth in message_delta. */
  | 'late_usage'
  /** prov_c: candidatesTokenCount already contains the thoughts. */
  | 'inclusive_thoughts'
  /** prov_c: usageMetadata on the last chunk only, as older models do. */
  | 'last_chunk_usage';

export interface RuleSubject {
  method: string;
  path: string;
  model: string | null;
  stream: boolean;
  headers: NodeJS.Dict<string | string[]>;
}

export interface RuleMatch {
  method?: string;
  path?: string | RegExp;
  model?: string;
  stream?: boolean;
}

export interface SimRule {
  match?: RuleMatch | ((subject: RuleSubject) => boolean);
  /** How many requests the rule answers before it is used up. */
  times?: number;
  usage?: Partial<SimUsage>;
  /** Sent as the usage object as it stands, whatever it is; the bill stays `usage`. */
  rawUsage?: Json;
  /** The served model. */
  model?: string;
  /** The served tier. */
  tier?: string;
  text?: string;
  variant?: Variant;
  /** Output tokens equal to the cap the request set. */
  billExactlyCap?: boolean;
  status?: number;
  /** Sent as it stands; billed only if `usage` is given. */
  body?: string | Buffer;
  headers?: Record<string, string | string[]>;
  trailers?: Record<string, string>;
  /** Headers of a 103 sent first; Node wants a `link` among them. */
  informational?: Record<string, string>;
  /** Before the status line. */
  delayMs?: number;
  /** Between the header block and the first body byte. */
  firstByteDelayMs?: number;
  /** How many text deltas a stream has. */
  chunks?: number;
  chunkDelayMs?: number;
  /** Cuts every frame of a stream, and a whole body, into writes of this many bytes, through lines and characters. */
  splitEveryBytes?: number;
  fault?: Fault;
  faultAfterChunks?: number;
  /** Used only if the request's accept-encoding offers it. */
  encoding?: 'gzip' | 'br' | 'deflate' | 'identity';
}

interface ScriptedRule {
  rule: SimRule;
  left: number;
}

/** The rules of one provider, in the order they were scripted. */
export class Script {
  readonly #rules: ScriptedRule[] = [];

  add(rule: SimRule): void {
    this.#rules.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#rules.length = 0;
  }

  /** The first rule that matches and is not used up; taking it uses it once. */
  take(subject: RuleSubject): SimRule | null {
    for (const scripted of this.#rules) {
      if (scripted.left <= 0 || !matches(scripted.rule.match, subject)) continue;
      scripted.left -= 1;
      return scripted.rule;
    }
    return null;
  }
}

function matches(match: SimRule['match'], subject: RuleSubject): boolean {
  if (match === undefined) return true;
  if (typeof match === 'function') return match(subject);
  if (match.method !== undefined && match.method !== subject.method) return false;
  if (match.model !== undefined && match.model !== subject.model) return false;
  if (match.stream !== undefined && match.stream !== subject.stream) return false;
  if (match.path === undefined) return true;
  return typeof match.path === 'string' ? match.path === subject.path : match.path.test(subject.path);
}

/** The rule in an `x-sim` header; null if the header is not a JSON object or names an unknown fault. */
export function ruleFromHeader(value: string): SimRule | null {
  const parsed = parseObject(Buffer.from(value, 'latin1'));
  if (!isObject(parsed ?? undefined)) return null;
  const rule = parsed as SimRule;
  if (rule.fault !== undefined && !FAULTS.includes(rule.fault)) return null;
  return rule;
}
