import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, stringIn, textBytes } from './json.ts';
import { streamError } from './openai-chat.ts';
import { openAiError, openAiHeaders } from './openai-protocol.ts';
import { dataEvent, type Frame, jsonReply, namedEvent, type Reply } from './reply.ts';
import type { SimRequest } from './request.ts';
import { promptTokens, type SimUsage } from './usage.ts';

const EMBEDDING_DIMENSIONS = 8;
const MAX_EMBEDDINGS = 2_048;
const IMAGE_OUTPUT_TOKENS = 272;
const EDITED_IMAGE_TOKENS = 323;
const MAX_IMAGES = 10;
/** A one-pixel PNG: clients decode it, nobody looks at it. */
const PIXEL_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
/** Upload bytes that stand for one second of audio, and the tokens of that second. */
const AUDIO_BYTES_PER_SECOND = 16_000;
const AUDIO_TOKENS_PER_SECOND = 10;
const SPEECH_BYTES_PER_TOKEN = 64;
const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

export function embeddings(request: SimRequest): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null) return openAiError(400, 'you must provide a model parameter');
  const inputs =
    Array.isArray(json.input) && typeof json.input[0] !== 'number' ? json.input : [json.input ?? ''];
  if (inputs.length > MAX_EMBEDDINGS)
    return openAiError(400, `'input' has more than ${MAX_EMBEDDINGS} items.`, 'input');
  // Input may be token ids already; then each id is one token.
  const inputTokens = inputs.reduce<number>((sum, input) => sum + embeddingTokens(input), 0);
  const generation = billInputOnly(generate(request, { model, inputTokens, capTokens: null }), request);
  const vector = Array.from({ length: EMBEDDING_DIMENSIONS }, (_, index) => (index + 1) / 64);
  const encoded = Buffer.from(new Float32Array(vector).buffer).toString('base64');
  const embedding: Json = json.encoding_format === 'base64' ? encoded : vector;
  const body: JsonObject = {
    object: 'list',
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
    model: generation.servedModel,
    usage: reportedUsage(generation, (usage) => {
      const tokens = promptTokens(usage);
      return { prompt_tokens: tokens, total_tokens: tokens };
    }),
  };
  return jsonReply(200, body, generation, openAiHeaders(request));
}

function embeddingTokens(input: Json | undefined): number {
  return Array.isArray(input) ? input.length : tokensOfBytes(textBytes(input));
}

/** Endpoints without generated text: only scripted output counts. */
function billInputOnly(generation: Generation, request: SimRequest): Generation {
  const outputTokens = request.rule.usage?.outputTokens ?? 0;
  return { ...generation, usage: { ...generation.usage, outputTokens } };
}

export function image(request: SimRequest, kind: 'generation' | 'edit'): Reply {
  const fields = formOrJson(request);
  const model = stringIn(fields, 'model') ?? (kind === 'edit' ? 'gpt-image-1' : 'dall-e-2');
  const count = Math.min(MAX_IMAGES, Math.max(1, Number(fields.n ?? 1) || 1));
  const promptText = tokensOfBytes(textBytes(fields.prompt));
  const imageInputTokens = kind === 'edit' ? EDITED_IMAGE_TOKENS : 0;
  const outputTokens = IMAGE_OUTPUT_TOKENS * count;
  const base = generate(request, { model, inputTokens: promptText, capTokens: null });
  const drawn = {
    inputTokens: promptText + imageInputTokens,
    imageInputTokens,
    outputTokens,
    imageOutputTokens: outputTokens,
  };
  const generation: Generation = { ...base, usage: { ...base.usage, ...drawn, ...request.rule.usage } };
  const isGptImage = model.startsWith('gpt-image');
  const usage = isGptImage ? reportedUsage(generation, imageUsage) : undefined;
  if (isTrue(fields.stream))
    return imageStream(request, generation, kind, Number(fields.partial_images ?? 0), usage);
  const pictures = Array.from({ length: count }, () => ({ b64_json: PIXEL_PNG }));
  const body: JsonObject = { created: request.createdSeconds, data: pictures, usage };
  return jsonReply(200, body, generation, openAiHeaders(request));
}

function imageUsage(usage: SimUsage): JsonObject {
  const input = promptTokens(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      text_tokens: input - usage.imageInputTokens,
      image_tokens: usage.imageInputTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: {
      text_tokens: usage.outputTokens - usage.imageOutputTokens,
      image_tokens: usage.imageOutputTokens,
    },
    total_tokens: input + usage.outputTokens,
  };
}

function imageStream(
  request: SimRequest,
  generation: Generation,
  kind: 'generation' | 'edit',
  partialImages: number,
  usage: Json | undefined,
): Reply {
  const { outputTokens } = generation.usage;
  const picture = {
    b64_json: PIXEL_PNG,
    created_at: request.createdSeconds,
    size: '1024x1024',
    quality: 'low',
  };
  const shown = { ...picture, background: 'opaque', output_format: 'png' };
  const frames: Frame[] = [];
  const partial = Math.min(3, Math.max(0, partialImages || 0));
  for (let index = 0; index < partial; index += 1) {
    const type = `image_${kind}.partial_image`;
    const tokens = Math.round((outputTokens * (index + 1)) / (partial + 1));
    frames.push({
      bytes: namedEvent(type, { type, ...shown, partial_image_index: index }),
      outputTokens: tokens,
    });
  }
  const type = `image_${kind}.completed`;
  frames.push({ bytes: namedEvent(type, { type, ...shown, usage }), outputTokens });
  const headers = { ...EVENT_STREAM, ...openAiHeaders(request) };
  return { kind: 'stream', headers, frames, errorFrame: streamError(), bill: generation };
}

export function transcription(request: SimRequest): Reply {
  const fields = formOrJson(request);
  const model = stringIn(fields, 'model');
  if (model === null) return openAiError(400, 'you must provide a model parameter');
  const isTimed = model === 'whisper-1';
  const generation = transcribed(request, fields, model, isTimed);
  const shape = isTimed ? durationUsage : transcriptionUsage;
  const format = stringIn(fields, 'response_format') ?? 'json';
  if (isTrue(fields.stream)) return transcriptionStream(request, generation);
  if (format === 'text' || format === 'srt' || format === 'vtt') {
    const headers = { 'content-type': 'text/plain; charset=utf-8', ...openAiHeaders(request) };
    return { kind: 'whole', status: 200, headers, body: `${generation.text}\n`, bill: generation };
  }
  const body: JsonObject = { text: generation.text, usage: reportedUsage(generation, shape) };
  const seconds = generation.usage.audioSeconds;
  const verbose = { task: 'transcribe', language: 'english', duration: seconds, segments: [], ...body };
  return jsonReply(200, format === 'verbose_json' ? verbose : body, generation, openAiHeaders(request));
}

/** Whisper bills seconds and nothing else, the later models bill tokens and nothing else. */
function transcribed(request: SimRequest, fields: JsonObject, model: string, isTimed: boolean): Generation {
  const seconds = Math.max(1, Math.ceil(request.body.length / AUDIO_BYTES_PER_SECOND));
  const audioInputTokens = seconds * AUDIO_TOKENS_PER_SECOND;
  const inputTokens = audioInputTokens + tokensOfBytes(textBytes(fields.prompt));
  const base = generate(request, { model, inputTokens, capTokens: null });
  const heard = isTimed ? { audioSeconds: seconds, inputTokens: 0, outputTokens: 0 } : { audioInputTokens };
  return { ...base, usage: { ...base.usage, ...heard, ...request.rule.usage } };
}

function durationUsage(usage: SimUsage): JsonObject {
  return { type: 'duration', seconds: usage.audioSeconds };
}

function transcriptionUsage(usage: SimUsage): JsonObject {
  const input = promptTokens(usage);
  return {
    type: 'tokens',
    input_tokens: input,
    input_token_details: {
      text_tokens: input - usage.audioInputTokens,
      audio_tokens: usage.audioInputTokens,
    },
    output_tokens: usage.outputTokens,
    total_tokens: input + usage.outputTokens,
  };
}

function transcriptionStream(request: SimRequest, generation: Generation): Reply {
  const frames: Frame[] = pieces(generation).map((piece) => ({
    bytes: dataEvent({ type: 'transcript.text.delta', delta: piece.text }),
    outputTokens: piece.outputTokens,
  }));
  const usage = reportedUsage(generation, transcriptionUsage);
  const done = { type: 'transcript.text.done', text: generation.text, usage };
  frames.push({ bytes: dataEvent(done), outputTokens: generation.usage.outputTokens });
  const headers = { ...EVENT_STREAM, ...openAiHeaders(request) };
  return { kind: 'stream', headers, frames, errorFrame: streamError(), bill: generation };
}

export function speech(request: SimRequest): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null) return openAiError(400, 'you must provide a model parameter');
  const base = generate(request, {
    model,
    inputTokens: tokensOfBytes(textBytes(json.input)),
    capTokens: null,
  });
  const audioOutputTokens = request.rule.usage?.audioOutputTokens ?? base.usage.outputTokens;
  const generation = { ...base, usage: { ...base.usage, audioOutputTokens } };
  const { outputTokens } = generation.usage;
  const sound = Buffer.alloc(Math.min(outputTokens, 65_536) * SPEECH_BYTES_PER_TOKEN, 0xff);
  if (json.stream_format !== 'sse') {
    const headers = { 'content-type': 'audio/mpeg', ...openAiHeaders(request) };
    return { kind: 'whole', status: 200, headers, body: sound, bill: generation };
  }
  const count = Math.max(1, request.rule.chunks ?? 4);
  const frames: Frame[] = Array.from({ length: count }, (_, index) => {
    const part = sound.subarray((sound.length * index) / count, (sound.length * (index + 1)) / count);
    const delta = { type: 'speech.audio.delta', audio: part.toString('base64') };
    return { bytes: dataEvent(delta), outputTokens: Math.round((outputTokens * (index + 1)) / count) };
  });
  const usage = reportedUsage(generation, (used) => {
    const input = promptTokens(used);
    return { input_tokens: input, output_tokens: used.outputTokens, total_tokens: input + used.outputTokens };
  });
  frames.push({ bytes: dataEvent({ type: 'speech.audio.done', usage }), outputTokens });
  const headers = { ...EVENT_STREAM, ...openAiHeaders(request) };
  return { kind: 'stream', headers, frames, errorFrame: streamError(), bill: generation };
}

/** The text fields of a multipart form, or the JSON body; files are not needed beyond their size. */
function formOrJson(request: SimRequest): JsonObject {
  if (request.json !== null) return request.json;
  const fields: JsonObject = {};
  const form = request.body.toString('latin1');
  for (const match of form.matchAll(
    /name="([^"\r\n]{1,64})"\r\n(?:content-type:[^\r\n]*\r\n)?\r\n([^\r\n]*)\r\n--/gi,
  )) {
    fields[match[1] as string] = Buffer.from(match[2] as string, 'latin1').toString('utf8');
  }
  return fields;
}

function isTrue(value: Json | undefined): boolean {
  return value === true || value === 'true';
}
