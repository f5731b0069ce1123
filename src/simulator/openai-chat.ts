import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, objectIn, stringIn, textBytes } from './json.ts';
import { openAiError, openAiHeaders, servedTier, tokenCap } from './openai-protocol.ts';
import { dataEvent, type Frame, jsonReply, type Reply } from './reply.ts';
import { idFor, type SimRequest } from './request.ts';
import { promptTokens, type SimUsage } from './usage.ts';

/** What the real endpoint allows. */
const MAX_CHOICES = 128;
const FINGERPRINT = 'fp_51db84afab';
const OBFUSCATION = 'aB3xK9mPq7Zt2Lw';

export function chatUsage(usage: SimUsage): JsonObject {
  const prompt = promptTokens(usage);
  const hasImages = usage.imageInputTokens > 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWrite5mTokens + usage.cacheWrite1hTokens,
      audio_tokens: usage.audioInputTokens,
      text_tokens: hasImages ? prompt - usage.audioInputTokens - usage.imageInputTokens : undefined,
      image_tokens: hasImages ? usage.imageInputTokens : undefined,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: usage.audioOutputTokens,
      accepted_prediction_tokens: usage.acceptedPredictionTokens,
      rejected_prediction_tokens: usage.rejectedPredictionTokens,
    },
  };
}

export function chatCompletion(request: SimRequest): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null) return openAiError(400, 'you must provide a model parameter');
  if (!Array.isArray(json.messages))
    return openAiError(400, "Missing required parameter: 'messages'.", 'messages');
  const choices = choiceCount(json);
  if (choices === null)
    return openAiError(400, `Invalid 'n': expected an integer from 1 to ${MAX_CHOICES}.`, 'n');
  const cap = tokenCap(json, ['max_completion_tokens', 'max_tokens']);
  if (cap.invalid !== null)
    return openAiError(400, `Invalid '${cap.invalid}': expected a positive integer.`, cap.invalid);
  const inputTokens = tokensOfBytes(textBytes(json.messages) + textBytes(json.tools));
  const generation = generate(request, { model, inputTokens, capTokens: cap.tokens, choices });
  if (json.stream === true) return chatStream(request, generation, choices);
  const body: JsonObject = {
    id: idFor(request, 'chatcmpl-'),
    object: 'chat.completion',
    created: request.createdSeconds,
    model: generation.servedModel,
    choices: Array.from({ length: choices }, (_, index) => chatChoice(generation, index)),
    usage: reportedUsage(generation, chatUsage),
    service_tier: servedTier(json, generation.tier),
    system_fingerprint: FINGERPRINT,
  };
  return jsonReply(200, body, generation, openAiHeaders(request));
}

function choiceCount(json: JsonObject): number | null {
  const n = json.n ?? 1;
  return typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= MAX_CHOICES ? n : null;
}

function chatChoice(generation: Generation, index: number): JsonObject {
  return {
    index,
    message: { role: 'assistant', content: generation.text, refusal: null, annotations: [] },
    logprobs: null,
    finish_reason: generation.capped ? 'length' : 'stop',
  };
}

function chatStream(request: SimRequest, generation: Generation, choices: number): Reply {
  const { json } = request;
  const options = objectIn(json, 'stream_options');
  const withUsage = options?.include_usage === true;
  const obfuscation = options?.include_obfuscation === false ? undefined : OBFUSCATION;
  const chunk = (content: Json[], usage: Json | undefined): string =>
    dataEvent({
      id: idFor(request, 'chatcmpl-'),
      object: 'chat.completion.chunk',
      created: request.createdSeconds,
      model: generation.servedModel,
      service_tier: servedTier(json, generation.tier),
      system_fingerprint: FINGERPRINT,
      choices: content,
      usage,
      obfuscation,
    });
  const choice = (index: number, delta: JsonObject, finish: string | null): Json[] => [
    { index, delta, logprobs: null, finish_reason: finish },
  ];
  // With the flag every chunk says `usage: null`; without it the member does not exist at all.
  const none = withUsage ? null : undefined;
  const frames: Frame[] = [];
  const indexes = Array.from({ length: choices }, (_, index) => index);
  const opening = { role: 'assistant', content: '', refusal: null };
  for (const index of indexes)
    frames.push({ bytes: chunk(choice(index, opening, null), none), outputTokens: 0 });
  for (const piece of pieces(generation)) {
    for (const index of indexes) {
      const delta = { content: piece.text };
      frames.push({ bytes: chunk(choice(index, delta, null), none), outputTokens: piece.outputTokens });
    }
  }
  const { outputTokens } = generation.usage;
  const finish = generation.capped ? 'length' : 'stop';
  for (const index of indexes) frames.push({ bytes: chunk(choice(index, {}, finish), none), outputTokens });
  const usage = withUsage ? reportedUsage(generation, chatUsage) : undefined;
  if (usage !== undefined) frames.push({ bytes: chunk([], usage), outputTokens });
  frames.push({ bytes: 'data: [DONE]\n\n', outputTokens });
  return {
    kind: 'stream',
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...openAiHeaders(request) },
    frames,
    errorFrame: streamError(),
    bill: generation,
  };
}

export function streamError(): string {
  const message = 'The server had an error while processing your request. Sorry about that!';
  return dataEvent({ error: { message, type: 'server_error', param: null, code: null } });
}

export function legacyCompletion(request: SimRequest): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null) return openAiError(400, 'you must provide a model parameter');
  const cap = tokenCap(json, ['max_tokens']);
  if (cap.invalid !== null)
    return openAiError(400, `Invalid '${cap.invalid}': expected a positive integer.`, cap.invalid);
  const generation = generate(request, {
    model,
    inputTokens: tokensOfBytes(textBytes(json.prompt)),
    // The legacy endpoint stops at 16 tokens unless told otherwise.
    capTokens: cap.tokens ?? 16,
  });
  const body = (text: string, finish: string | null, usage: Json | undefined): JsonObject => ({
    id: idFor(request, 'cmpl-'),
    object: 'text_completion',
    created: request.createdSeconds,
    model: generation.servedModel,
    choices: [{ text, index: 0, logprobs: null, finish_reason: finish }],
    usage,
  });
  const finish = generation.capped ? 'length' : 'stop';
  if (json.stream !== true) {
    const whole = body(generation.text, finish, reportedUsage(generation, chatUsage));
    return jsonReply(200, whole, generation, openAiHeaders(request));
  }
  const withUsage = objectIn(json, 'stream_options')?.include_usage === true;
  const none = withUsage ? null : undefined;
  const { outputTokens } = generation.usage;
  const frames: Frame[] = pieces(generation).map((piece) => ({
    bytes: dataEvent(body(piece.text, null, none)),
    outputTokens: piece.outputTokens,
  }));
  frames.push({ bytes: dataEvent(body('', finish, none)), outputTokens });
  const usage = withUsage ? reportedUsage(generation, chatUsage) : undefined;
  if (usage !== undefined)
    frames.push({ bytes: dataEvent({ ...body('', null, usage), choices: [] }), outputTokens });
  frames.push({ bytes: 'data: [DONE]\n\n', outputTokens });
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', ...openAiHeaders(request) };
  return { kind: 'stream', headers, frames, errorFrame: streamError(), bill: generation };
}
