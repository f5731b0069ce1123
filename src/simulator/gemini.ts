import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, listIn, objectIn, stringIn, textBytes } from './json.ts';
import { type Frame, jsonReply, type Reply, type ReplyHeaders } from './reply.ts';
import { idFor, queryValue, type SimRequest } from './request.ts';
import { LISTED_MODELS } from './served-model.ts';
import { promptTokens, type SimUsage, usageUntil } from './usage.ts';

const MAX_CANDIDATES = 8;
const EMBEDDING = [0.0125, -0.025, 0.05, 0.1];
const THOUGHT = 'The request is simple, so a short answer will do.';

const ERROR_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export function geminiError(status: number, message: string, details?: Json): Reply {
  const name = ERROR_STATUSES[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  const body = { error: { code: status, message, status: name, details } };
  return jsonReply(status, body, null, { 'content-type': 'application/json; charset=UTF-8' });
}

/** prov_c: the Gemini endpoints; the model and the action are in the path. */
export function gemini(request: SimRequest): Reply {
  const { method, path, json } = request;
  if ((path === '/v1beta/models' || path === '/v1/models') && method === 'GET') return modelList();
  const target = /^\/v1(?:beta)?\/models\/([^/:]+):([A-Za-z]+)$/.exec(path);
  if (target === null || method !== 'POST') return geminiError(404, 'Requested entity was not found.');
  if (json === null) return geminiError(400, 'Invalid JSON payload received.');
  const model = decodedName(target[1] as string);
  switch (target[2]) {
    case 'generateContent':
      return content(request, model, json, 'whole');
    case 'streamGenerateContent':
      return content(request, model, json, queryValue(request, 'alt') === 'sse' ? 'events' : 'array');
    case 'countTokens':
      return countTokens(json);
    case 'embedContent':
      return embedding(request, model, { embedding: { values: EMBEDDING } });
    case 'batchEmbedContents':
      return embedding(request, model, {
        embeddings: listIn(json, 'requests').map(() => ({ values: EMBEDDING })),
      });
    default:
      return geminiError(404, 'Requested entity was not found.');
  }
}

function decodedName(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

/** Google pretty-prints; a reader that expects one line per object must fail here and not in production. */
function prettyReply(body: JsonObject, bill: Generation | null, headers: ReplyHeaders): Reply {
  const text = `${JSON.stringify(body, null, 2)}\n`;
  return { kind: 'whole', status: 200, headers, body: text, bill };
}

function geminiHeaders(contentType: string, tier: string): ReplyHeaders {
  return {
    'content-type': contentType,
    vary: ['Origin', 'X-Origin', 'Referer'],
    server: 'scaffolding on HTTPServer2',
    'x-gemini-service-tier': tier,
  };
}

const JSON_TYPE = 'application/json; charset=UTF-8';

function modelList(): Reply {
  const models = LISTED_MODELS.prov_c.map((id) => ({
    name: `models/${id}`,
    version: '001',
    displayName: id,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  }));
  return prettyReply({ models }, null, { 'content-type': JSON_TYPE });
}

function countTokens(json: JsonObject): Reply {
  const contents = json.contents ?? objectIn(json, 'generateContentRequest')?.contents;
  const totalTokens = Math.max(1, tokensOfBytes(textBytes(contents)));
  const promptTokensDetails = [{ modality: 'TEXT', tokenCount: totalTokens }];
  return prettyReply({ totalTokens, promptTokensDetails }, null, { 'content-type': JSON_TYPE });
}

function embedding(request: SimRequest, model: string, body: JsonObject): Reply {
  const inputTokens = tokensOfBytes(textBytes(request.json?.content) + textBytes(request.json?.requests));
  const base = generate(request, { model, inputTokens, capTokens: null });
  const outputTokens = request.rule.usage?.outputTokens ?? 0;
  return prettyReply(
    body,
    { ...base, usage: { ...base.usage, outputTokens } },
    { 'content-type': JSON_TYPE },
  );
}

function content(
  request: SimRequest,
  model: string,
  json: JsonObject,
  form: 'whole' | 'events' | 'array',
): Reply {
  if (!Array.isArray(json.contents))
    return geminiError(400, '* GenerateContentRequest.contents: contents is not specified');
  const config = objectIn(json, 'generationConfig');
  const cap = config?.maxOutputTokens;
  if (cap !== undefined && (typeof cap !== 'number' || !Number.isSafeInteger(cap) || cap < 1)) {
    return geminiError(400, 'max_output_tokens must be positive.');
  }
  const choices = config?.candidateCount ?? 1;
  if (typeof choices !== 'number' || !Number.isInteger(choices) || choices < 1 || choices > MAX_CANDIDATES) {
    return geminiError(400, `candidateCount must be in the range [1, ${MAX_CANDIDATES}].`);
  }
  const bytes = textBytes(json.contents) + textBytes(json.systemInstruction) + textBytes(json.tools);
  const asked = { model, inputTokens: tokensOfBytes(bytes), capTokens: cap ?? null, choices };
  const generation = generate(request, asked);
  const tier = generation.tier ?? stringIn(json, 'serviceTier') ?? 'standard';
  const thinks =
    objectIn(config, 'thinkingConfig')?.includeThoughts === true && generation.usage.reasoningTokens > 0;
  if (form === 'whole') {
    const candidates = Array.from({ length: choices }, (_, index) =>
      candidate(generation, index, generation.text, thinks, true),
    );
    const body = { candidates, ...tail(request, generation, generation.usage) };
    return prettyReply(body, generation, geminiHeaders(JSON_TYPE, tier));
  }
  const chunks = contentChunks(request, generation, choices, thinks);
  const type = form === 'events' ? 'text/event-stream' : JSON_TYPE;
  const errorBody = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
  return {
    kind: 'stream',
    headers: geminiHeaders(type, tier),
    frames: form === 'events' ? asEvents(chunks) : asArray(chunks),
    errorFrame: form === 'events' ? event(errorBody) : `,\r\n${JSON.stringify(errorBody, null, 2)}\n]`,
    bill: generation,
  };
}

function candidate(
  generation: Generation,
  index: number,
  text: string,
  thinks: boolean,
  isLast: boolean,
): JsonObject {
  const parts: Json[] = thinks ? [{ text: THOUGHT, thought: true }] : [];
  if (text !== '') parts.push({ text });
  const finish = generation.capped ? 'MAX_TOKENS' : 'STOP';
  return { content: { parts, role: 'model' }, finishReason: isLast ? finish : undefined, index };
}

function tail(request: SimRequest, generation: Generation, usage: SimUsage): JsonObject {
  return {
    usageMetadata: reportedUsage(generation, () => usageMetadata(usage, generation)),
    modelVersion: generation.servedModel,
    responseId: idFor(request, ''),
  };
}

/** Members that are zero are left out, as the real ones are. */
function usageMetadata(usage: SimUsage, generation: Generation): JsonObject {
  const prompt = promptTokens(usage);
  const isInclusive = generation.rule.variant === 'inclusive_thoughts';
  const candidates = isInclusive ? usage.outputTokens : usage.outputTokens - usage.reasoningTokens;
  const spoken =
    usage.outputTokens - usage.reasoningTokens - usage.audioOutputTokens - usage.imageOutputTokens;
  const hasMedia = usage.audioOutputTokens + usage.imageOutputTokens > 0;
  return {
    promptTokenCount: prompt || undefined,
    candidatesTokenCount: candidates || undefined,
    totalTokenCount: prompt + usage.toolUseTokens + usage.outputTokens,
    cachedContentTokenCount: usage.cachedTokens || undefined,
    promptTokensDetails: modalities(
      prompt - usage.audioInputTokens - usage.imageInputTokens,
      usage.audioInputTokens,
      usage.imageInputTokens,
    ),
    cacheTokensDetails: modalities(usage.cachedTokens, 0, 0),
    candidatesTokensDetails: hasMedia
      ? modalities(spoken, usage.audioOutputTokens, usage.imageOutputTokens)
      : undefined,
    thoughtsTokenCount: usage.reasoningTokens || undefined,
    toolUsePromptTokenCount: usage.toolUseTokens || undefined,
    toolUsePromptTokensDetails: modalities(usage.toolUseTokens, 0, 0),
  };
}

function modalities(text: number, audio: number, image: number): Json | undefined {
  const counts: [string, number][] = [
    ['TEXT', text],
    ['AUDIO', audio],
    ['IMAGE', image],
  ];
  const details = counts.filter(([, tokenCount]) => tokenCount > 0);
  return details.length === 0
    ? undefined
    : details.map(([modality, tokenCount]) => ({ modality, tokenCount }));
}

interface Chunk {
  body: JsonObject;
  outputTokens: number;
}

/** The chunks of a stream; the counts in each are those of everything until then. */
function contentChunks(
  request: SimRequest,
  generation: Generation,
  choices: number,
  thinks: boolean,
): Chunk[] {
  const parts = pieces(generation);
  // A generation without text still ends with one chunk that says why.
  if (parts.length === 0) parts.push({ text: '', outputTokens: generation.usage.outputTokens });
  return parts.map((piece, position) => {
    const isLast = position === parts.length - 1;
    const candidates = Array.from({ length: choices }, (_, index) =>
      candidate(generation, index, piece.text, thinks && position === 0, isLast),
    );
    const end = tail(request, generation, usageUntil(generation.usage, piece.outputTokens));
    if (generation.rule.variant === 'last_chunk_usage' && !isLast) delete end.usageMetadata;
    return { body: { candidates, ...end }, outputTokens: piece.outputTokens };
  });
}

function event(body: JsonObject): string {
  return `data: ${JSON.stringify(body)}\r\n\r\n`;
}

function asEvents(chunks: Chunk[]): Frame[] {
  return chunks.map((chunk) => ({ bytes: event(chunk.body), outputTokens: chunk.outputTokens }));
}

function asArray(chunks: Chunk[]): Frame[] {
  return chunks.map((chunk, index) => {
    const open = index === 0 ? '[' : ',\r\n';
    const close = index === chunks.length - 1 ? '\n]' : '\n';
    return { bytes: open + JSON.stringify(chunk.body, null, 2) + close, outputTokens: chunk.outputTokens };
  });
}
