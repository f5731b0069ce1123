import { parseJson } from '../tap/skim-capture.ts';
import { multipartFields } from './multipart.ts';

const MAX_TEXT_CHARS = 4 * 1024 * 1024;
const MAX_DEPTH = 64;
/** Longer strings of nothing but base64 characters are media or signatures, not language. */
const MIN_BASE64_CHARS = 256;
const BASE64 = /^(data:[^,]{0,200},)?[A-Za-z0-9+/_-]+={0,2}$/;
/** Members that steer the request and are not shown to the model. */
const UNREAD_KEYS = new Set([
  'model',
  'type',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'cache_control',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'previous_response_id',
  'service_tier',
  'serviceTier',
  'stream_options',
  'media_type',
  'mimeType',
  'mime_type',
  'image_url',
  'file_id',
  'fileUri',
  'file_uri',
  'encrypted_content',
  'signature',
  'thoughtSignature',
  'safetySettings',
  'inference_geo',
  'speed',
  'tool_choice',
  'reasoning',
  'reasoning_effort',
  'thinking',
  'stop',
  'stop_sequences',
  'include',
  'truncation',
  'encoding_format',
  'cachedContent',
]);
/** Definitions the model reads as they stand, punctuation and all. */
const VERBATIM_KEYS = new Set([
  'tools',
  'functions',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'responseSchema',
  'responseJsonSchema',
  'args',
]);

/**
 * The text of a request that a model would read, for counting tokens when no usage comes back: roles, messages,
 * instructions, tool definitions. Inline media are left out, because their tokens do not follow their bytes.
 */
export function requestText(body: Buffer): string {
  const text = new BoundedText();
  const document = parseJson(body.toString('utf8')) ?? formOf(body);
  if (typeof document === 'object' && document !== null) gather(document, '', text, 0);
  return text.toString();
}

/** A form's boundary stands in its first line, which spares the caller the content type. */
function formOf(body: Buffer): Record<string, string> | null {
  if (body[0] !== 0x2d || body[1] !== 0x2d) return null;
  const lineEnd = body.subarray(0, 256).indexOf('\r\n');
  if (lineEnd < 0) return null;
  return multipartFields(`multipart/form-data; boundary="${body.toString('latin1', 2, lineEnd)}"`, body);
}

function gather(value: unknown, key: string, text: BoundedText, depth: number): void {
  if (text.full || depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    if (!isMedia(value)) text.add(value);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value) && value.length > 0 && value.every(Number.isInteger)) {
    // Prompts may be sent as token ids, one number each.
    if (key === 'input' || key === 'prompt')
      text.add(' a'.repeat(Math.min(value.length, MAX_TEXT_CHARS / 2)));
    return;
  }
  if (Array.isArray(value)) {
    for (const item of value) gather(item, key, text, depth + 1);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (UNREAD_KEYS.has(name)) continue;
    // The input of a tool call is an object; the input of a request is a text or a list.
    const verbatim = VERBATIM_KEYS.has(name) || (name === 'input' && !Array.isArray(member));
    if (verbatim && typeof member === 'object' && member !== null) {
      text.add(JSON.stringify(member, (_, inner: unknown) => (isMedia(inner) ? undefined : inner)));
    } else {
      gather(member, name, text, depth + 1);
    }
  }
}

function isMedia(value: unknown): boolean {
  return typeof value === 'string' && value.length >= MIN_BASE64_CHARS && BASE64.test(value);
}

class BoundedText {
  private readonly pieces: string[] = [];
  private chars = 0;

  get full(): boolean {
    return this.chars >= MAX_TEXT_CHARS;
  }

  add(piece: string): void {
    if (this.full || piece === '') return;
    this.pieces.push(piece.slice(0, MAX_TEXT_CHARS - this.chars));
    this.chars += piece.length + 1;
  }

  toString(): string {
    return this.pieces.join('\n');
  }
}
