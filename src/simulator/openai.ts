import { chatCompletion, legacyCompletion } from './openai-chat.ts';
import { embeddings, image, speech, transcription } from './openai-media.ts';
import { openAiError, openAiHeaders } from './openai-protocol.ts';
import { createResponse, type ResponseStore, storedResponse } from './openai-responses.ts';
import { jsonReply, type Reply } from './reply.ts';
import { idFor, type SimRequest } from './request.ts';
import { LISTED_MODELS } from './served-model.ts';

const BATCH_LINES = 100;

/** prov_a: the OpenAI endpoints, by path. */
export function openAi(request: SimRequest, store: ResponseStore): Reply {
  const { method, path } = request;
  if (method === 'POST') return openAiPost(request, store);
  if (method !== 'GET' && method !== 'HEAD') return openAiError(405, `Not allowed to ${method} on ${path}.`);
  if (path === '/v1/models') return jsonReply(200, modelList(request), null, openAiHeaders(request));
  const response = /^\/v1\/responses\/([^/]+)$/.exec(path)?.[1];
  if (response !== undefined) return storedResponse(request, store, response);
  const batch = /^\/v1\/batches\/([^/]+)$/.exec(path)?.[1];
  if (batch !== undefined) return jsonReply(200, finishedBatch(request, batch), null, openAiHeaders(request));
  return openAiError(404, `Invalid URL (${method} ${path})`);
}

function openAiPost(request: SimRequest, store: ResponseStore): Reply {
  switch (request.path) {
    case '/v1/chat/completions':
      return chatCompletion(request);
    case '/v1/responses':
      return createResponse(request, store);
    case '/v1/completions':
      return legacyCompletion(request);
    case '/v1/embeddings':
      return embeddings(request);
    case '/v1/images/generations':
      return image(request, 'generation');
    case '/v1/images/edits':
      return image(request, 'edit');
    case '/v1/audio/transcriptions':
      return transcription(request);
    case '/v1/audio/speech':
      return speech(request);
    case '/v1/moderations':
      return moderation(request);
    case '/v1/files':
      return uploadedFile(request);
    default:
      return openAiError(404, `Invalid URL (POST ${request.path})`);
  }
}

function modelList(request: SimRequest) {
  const created = request.createdSeconds;
  return {
    object: 'list',
    data: LISTED_MODELS.prov_a.map((id) => ({ id, object: 'model', created, owned_by: 'openai' })),
  };
}

function moderation(request: SimRequest): Reply {
  const categories = { harassment: false, hate: false, 'self-harm': false, sexual: false, violence: false };
  const scores = { harassment: 0.0001, hate: 0.0001, 'self-harm': 0.0001, sexual: 0.0001, violence: 0.0001 };
  const results = [{ flagged: false, categories, category_scores: scores }];
  const body = { id: idFor(request, 'modr-'), model: 'omni-moderation-latest', results };
  return jsonReply(200, body, null, openAiHeaders(request));
}

function uploadedFile(request: SimRequest): Reply {
  const filename =
    /filename="([^"\r\n]{1,255})"/.exec(request.body.toString('latin1', 0, 65_536))?.[1] ?? 'upload';
  const body = {
    id: idFor(request, 'file-'),
    object: 'file',
    bytes: request.body.length,
    created_at: request.createdSeconds,
    filename,
    purpose: 'batch',
    status: 'processed',
  };
  return jsonReply(200, body, null, openAiHeaders(request));
}

/** Every poll of a finished batch repeats the same totals; whoever adds them up bills twice. */
function finishedBatch(request: SimRequest, id: string) {
  const created = request.createdSeconds;
  return {
    id,
    object: 'batch',
    endpoint: '/v1/chat/completions',
    model: 'gpt-4o-mini-2024-07-18',
    errors: null,
    input_file_id: 'file-SimBatchInput',
    completion_window: '24h',
    status: 'completed',
    output_file_id: 'file-SimBatchOutput',
    error_file_id: null,
    created_at: created - 3_600,
    completed_at: created - 60,
    request_counts: { total: BATCH_LINES, completed: BATCH_LINES, failed: 0 },
    usage: {
      input_tokens: BATCH_LINES * 50,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: BATCH_LINES * 16,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: BATCH_LINES * 66,
    },
    metadata: null,
  };
}
