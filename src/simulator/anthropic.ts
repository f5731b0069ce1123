import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, stringIn, textBytes } from './json.ts';
import { type Frame, jsonReply, namedEvent, type Reply, type ReplyHeaders } from './reply.ts';
import { idFor, type SimRequest } from './request.ts';
import { LISTED_MODELS } from './served-model.ts';
import type { SimUsage } from './usage.ts';

/** message_start counts the first token only; the truth comes with message_delta. */
const PLACEHOLDER_OUTPUT_TOKENS = 1;
const THOUGHT = 'The request is simple, so a short answer will do.';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

export function anthropicError(request: SimRequest, status: number, message: string): Reply {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const body = { type: 'error', error: { type, message }, request_id: idFor(request, 'req_') };
  return jsonReply(status, body, null, anthropicHeaders(request));
}

function anthropicHeaders(request: SimRequest): ReplyHeaders {
  return {
    'request-id': idFor(request, 'req_'),
    'anthropic-organization-id': 'e6f3c2a1-0000-4000-8000-000000000000',
    'anthropic-ratelimit-requests-limit': '4000',
    'anthropic-ratelimit-requests-remaining': '3999',
  };
}

/** prov_b: the Anthropic endpoints, by path. */
export function anthropic(request: SimRequest): Reply {
  const { method, path, headers } = request;
  const version = headers['anthropic-version'];
  if (version === undefined) return anthropicError(request, 400, 'anthropic-version: header is required');
  if (typeof version !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(version)) {
    return anthropicError(request, 400, `anthropic-version: "${version}" is not a valid version`);
  }
  if (method === 'POST' && path === '/v1/messages') return messages(request);
  if (method === 'POST' && path === '/v1/messages/count_tokens') return countTokens(request);
  if (path === '/v1/models' && (method === 'GET' || method === 'HEAD')) return modelList(request);
  return anthropicError(request, 404, 'Not Found');
}

function messages(request: SimRequest): Reply {
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null) return anthropicError(request, 400, 'The request body is not valid JSON.');
  if (model === null) return anthropicError(request, 400, 'model: Field required');
  if (!Array.isArray(json.messages)) return anthropicError(request, 400, 'messages: Field required');
  const cap = json.max_tokens;
  if (cap === undefined) return anthropicError(request, 400, 'max_tokens: Field required');
  if (typeof cap !== 'number' || !Number.isSafeInteger(cap) || cap < 1) {
    return anthropicError(request, 400, 'max_tokens: Input should be a valid integer greater than 0');
  }
  const generation = generate(request, { model, inputTokens: inputTokens(json), capTokens: cap });
  if (json.stream === true) return messageStream(request, generation);
  const body = {
    ...messageHead(request, generation),
    content: contentBlocks(request, generation),
    stop_reason: generation.capped ? 'max_tokens' : 'end_turn',
    stop_sequence: null,
    usage: reportedUsage(generation, (usage) => messageUsage(request, generation, usage)),
  };
  return jsonReply(200, body, generation, anthropicHeaders(request));
}

function inputTokens(json: JsonObject): number {
  return tokensOfBytes(textBytes(json.messages) + textBytes(json.system) + textBytes(json.tools));
}

function countTokens(request: SimRequest): Reply {
  if (request.json === null) return anthropicError(request, 400, 'The request body is not valid JSON.');
  const tokens = Math.max(1, inputTokens(request.json));
  return jsonReply(200, { input_tokens: tokens }, null, anthropicHeaders(request));
}

function modelList(request: SimRequest): Reply {
  const ids = LISTED_MODELS.prov_b;
  const created = '2025-09-29T00:00:00Z';
  const data = ids.map((id) => ({ type: 'model', id, display_name: id, created_at: created }));
  const body = { data, has_more: false, first_id: ids[0], last_id: ids.at(-1) };
  return jsonReply(200, body, null, anthropicHeaders(request));
}

function messageHead(request: SimRequest, generation: Generation): JsonObject {
  return {
    id: idFor(request, 'msg_'),
    type: 'message',
    role: 'assistant',
    model: generation.servedModel,
    container: null,
  };
}

/** The counts both the start and the delta event carry; all of them exclude one another. */
function inputUsage(usage: SimUsage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWrite5mTokens + usage.cacheWrite1hTokens,
    cache_read_input_tokens: usage.cachedTokens,
  };
}

function serverToolUse(usage: SimUsage): Json {
  if (usage.webSearches === 0 && usage.webFetches === 0) return null;
  return { web_search_requests: usage.webSearches, web_fetch_requests: usage.webFetches };
}

function messageUsage(request: SimRequest, generation: Generation, usage: SimUsage): JsonObject {
  const { tier } = generation;
  const isFast = tier === 'fast' || request.json?.speed === 'fast';
  return {
    ...inputUsage(usage),
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5mTokens,
      ephemeral_1h_input_tokens: usage.cacheWrite1hTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    server_tool_use: serverToolUse(usage),
    service_tier: tier === null || tier === 'fast' ? 'standard' : tier,
    inference_geo: stringIn(request.json, 'inference_geo') ?? 'global',
    speed: isFast ? 'fast' : 'standard',
  };
}

function contentBlocks(request: SimRequest, generation: Generation): JsonObject[] {
  const { usage, text } = generation;
  const blocks: JsonObject[] = [];
  if (usage.reasoningTokens > 0)
    blocks.push({ type: 'thinking', thinking: THOUGHT, signature: 'U2lnbmF0dXJl' });
  for (let index = 0; index < usage.webSearches; index += 1) {
    const id = idFor(request, `srvtoolu_${index}`);
    blocks.push({ type: 'server_tool_use', id, name: 'web_search', input: { query: `query ${index + 1}` } });
    blocks.push({ type: 'web_search_tool_result', tool_use_id: id, content: [] });
  }
  blocks.push({ type: 'text', text, citations: null });
  return blocks;
}

function messageStream(request: SimRequest, generation: Generation): Reply {
  const frames: Frame[] = [];
  let tokens = PLACEHOLDER_OUTPUT_TOKENS;
  const push = (type: string, members: JsonObject) => {
    frames.push({ bytes: namedEvent(type, { type, ...members }), outputTokens: tokens });
  };
  const isLate = generation.rule.variant === 'late_usage';
  const startUsage = reportedUsage(generation, (usage) => {
    const full = { ...messageUsage(request, generation, usage), output_tokens: PLACEHOLDER_OUTPUT_TOKENS };
    return isLate
      ? { input_tokens: 0, output_tokens: 0 }
      : { ...full, output_tokens_details: null, server_tool_use: null };
  });
  const opening = { content: [], stop_reason: null, stop_sequence: null, usage: startUsage };
  push('message_start', { message: { ...messageHead(request, generation), ...opening } });
  for (const [index, block] of contentBlocks(request, generation).entries()) {
    if (block.type !== 'text') {
      tokens = Math.max(tokens, generation.usage.reasoningTokens);
      pushFixedBlock(push, index, block);
      continue;
    }
    push('content_block_start', { index, content_block: { ...block, text: '' } });
    push('ping', {});
    for (const piece of pieces(generation)) {
      tokens = Math.max(tokens, piece.outputTokens);
      push('content_block_delta', { index, delta: { type: 'text_delta', text: piece.text } });
    }
    push('content_block_stop', { index });
  }
  tokens = generation.usage.outputTokens;
  const delta = { stop_reason: generation.capped ? 'max_tokens' : 'end_turn', stop_sequence: null };
  const usage = reportedUsage(generation, (used) => ({
    ...inputUsage(used),
    output_tokens: used.outputTokens,
    output_tokens_details: { thinking_tokens: used.reasoningTokens },
    server_tool_use: serverToolUse(used),
  }));
  push('message_delta', { delta, usage });
  push('message_stop', {});
  const overloaded = {
    type: 'error',
    error: { details: null, type: 'overloaded_error', message: 'Overloaded' },
  };
  return {
    kind: 'stream',
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...anthropicHeaders(request),
    },
    frames,
    errorFrame: namedEvent('error', overloaded),
    bill: generation,
  };
}

function pushFixedBlock(
  push: (type: string, members: JsonObject) => void,
  index: number,
  block: JsonObject,
): void {
  const delta = (members: JsonObject) => push('content_block_delta', { index, delta: members });
  switch (block.type) {
    case 'thinking':
      push('content_block_start', { index, content_block: { ...block, thinking: '', signature: '' } });
      delta({ type: 'thinking_delta', thinking: block.thinking });
      delta({ type: 'signature_delta', signature: block.signature });
      break;
    case 'server_tool_use':
      push('content_block_start', { index, content_block: { ...block, input: {} } });
      delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) });
      break;
    default:
      push('content_block_start', { index, content_block: block });
  }
  push('content_block_stop', { index });
}
