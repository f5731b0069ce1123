import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, stringIn, textBytes } from './json.ts';
import { openAiError, openAiHeaders, servedTier, tokenCap } from './openai-protocol.ts';
import { type Frame, jsonReply, namedEvent, type Reply } from './reply.ts';
import { idFor, queryValue, type SimRequest } from './request.ts';
import { promptTokens, type SimUsage } from './usage.ts';

/** Stored responses beyond this are forgotten, oldest first. */
const MAX_STORED = 1_000;
const OBFUSCATION = 'kT8vQ2rY5nXe';

interface StoredResponse {
  body: JsonObject;
  generation: Generation;
}

/** Responses that a later GET may ask for again. */
export type ResponseStore = Map<string, StoredResponse>;

function responsesUsage(usage: SimUsage): JsonObject {
  const input = promptTokens(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWrite5mTokens + usage.cacheWrite1hTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: input + usage.outputTokens,
  };
}

export function createResponse(request: SimRequest, store: ResponseStore): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null)
    return openAiError(400, "Missing required parameter: 'model'.", 'model');
  const cap = tokenCap(json, ['max_output_tokens']);
  if (cap.invalid !== null)
    return openAiError(400, `Invalid '${cap.invalid}': expected a positive integer.`, cap.invalid);
  const inputTokens = tokensOfBytes(
    textBytes(json.input) + textBytes(json.instructions) + textBytes(json.tools),
  );
  const generation = generate(request, { model, inputTokens, capTokens: cap.tokens });
  const body = finishedResponse(request, json, generation);
  const id = body.id as string;
  if (json.store !== false) {
    store.set(id, { body, generation });
    const oldest = store.size > MAX_STORED ? store.keys().next().value : undefined;
    if (oldest !== undefined) store.delete(oldest);
  }
  if (json.stream === true) return responseStream(request, body, generation);
  // A background response is answered before it has run; its usage is seen on a later GET only.
  if (json.background === true) {
    const queued = { ...body, status: 'queued', output: [], usage: null, background: true };
    return jsonReply(200, queued, generation, openAiHeaders(request));
  }
  return jsonReply(200, body, generation, openAiHeaders(request));
}

export function storedResponse(request: SimRequest, store: ResponseStore, id: string): Reply {
  const stored = store.get(id);
  if (stored === undefined) return openAiError(404, `Response with id '${id}' not found.`);
  if (queryValue(request, 'stream') !== 'true')
    return jsonReply(200, stored.body, null, openAiHeaders(request));
  // A replay costs nothing: the inference was billed when it ran.
  return { ...responseStream(request, stored.body, stored.generation), bill: null };
}

function finishedResponse(request: SimRequest, json: JsonObject, generation: Generation): JsonObject {
  const { capped, text, usage } = generation;
  const output: Json[] = [];
  if (usage.reasoningTokens > 0) output.push({ id: idFor(request, 'rs_'), type: 'reasoning', summary: [] });
  for (let index = 0; index < usage.webSearches; index += 1) {
    const action = { type: 'search', query: `query ${index + 1}` };
    output.push({ id: idFor(request, `ws_${index}`), type: 'web_search_call', status: 'completed', action });
  }
  output.push({
    id: idFor(request, 'msg_'),
    type: 'message',
    status: capped ? 'incomplete' : 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  });
  return {
    id: idFor(request, 'resp_'),
    object: 'response',
    created_at: request.createdSeconds,
    status: capped ? 'incomplete' : 'completed',
    background: json.background === true,
    error: null,
    incomplete_details: capped ? { reason: 'max_output_tokens' } : null,
    instructions: json.instructions ?? null,
    max_output_tokens: json.max_output_tokens ?? null,
    model: generation.servedModel,
    output,
    parallel_tool_calls: true,
    previous_response_id: json.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    service_tier: servedTier(json, generation.tier),
    store: json.store !== false,
    temperature: json.temperature ?? 1,
    text: { format: { type: 'text' } },
    tool_choice: json.tool_choice ?? 'auto',
    tools: json.tools ?? [],
    top_p: json.top_p ?? 1,
    truncation: 'disabled',
    usage: reportedUsage(generation, responsesUsage),
    user: null,
    metadata: json.metadata ?? {},
  };
}

function responseStream(request: SimRequest, body: JsonObject, generation: Generation): Reply {
  const frames: Frame[] = [];
  let tokens = 0;
  const push = (type: string, members: JsonObject) => {
    const event = { type, sequence_number: frames.length, ...members };
    frames.push({ bytes: namedEvent(type, event), outputTokens: tokens });
  };
  const running = { ...body, status: 'in_progress', incomplete_details: null, output: [], usage: null };
  push('response.created', { response: running });
  push('response.in_progress', { response: running });
  tokens = generation.usage.reasoningTokens;
  const output = body.output as JsonObject[];
  for (const [index, item] of output.entries()) {
    if (item.type === 'message') continue;
    push('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress' } });
    push('response.output_item.done', { output_index: index, item });
  }
  const message = output.at(-1) as JsonObject;
  const place = { item_id: message.id, output_index: output.length - 1, content_index: 0 };
  const opened = { ...message, status: 'in_progress', content: [] };
  push('response.output_item.added', { output_index: place.output_index, item: opened });
  const emptyPart = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  push('response.content_part.added', { ...place, part: emptyPart });
  for (const piece of pieces(generation)) {
    tokens = piece.outputTokens;
    push('response.output_text.delta', {
      ...place,
      delta: piece.text,
      logprobs: [],
      obfuscation: OBFUSCATION,
    });
  }
  tokens = generation.usage.outputTokens;
  push('response.output_text.done', { ...place, text: generation.text, logprobs: [] });
  push('response.content_part.done', { ...place, part: { ...emptyPart, text: generation.text } });
  push('response.output_item.done', { output_index: place.output_index, item: message });
  push(generation.capped ? 'response.incomplete' : 'response.completed', { response: body });
  const error = { code: 'server_error', message: 'The model failed to generate a response.' };
  const failed = { ...running, status: 'failed', error };
  const failure = { type: 'response.failed', sequence_number: frames.length, response: failed };
  return {
    kind: 'stream',
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...openAiHeaders(request) },
    frames,
    errorFrame: namedEvent('response.failed', failure),
    bill: generation,
  };
}
