import { type Generation, generate, pieces, reportedUsage, tokensOfBytes } from './generation.ts';
import { type Json, type JsonObject, objectIn, stringIn, textBytes } from './json.ts';
import { openAiError, tokenCap } from './openai-protocol.ts';
import { dataEvent, type Frame, jsonReply, type Reply } from './reply.ts';
import { idFor, type SimRequest } from './request.ts';
import { LISTED_MODELS } from './served-model.ts';
import { promptTokens, type SimUsage, usageUntil } from './usage.ts';

const DIALECTS = ['deepseek', 'groq', 'mistral', 'perplexity', 'xai'] as const;
type Dialect = (typeof DIALECTS)[number];

const MODEL_PREFIXES: readonly [RegExp, Dialect][] = [
  [/^(deepseek)/, 'deepseek'],
  [/^(mistral|codestral|devstral|magistral|ministral|pixtral)/, 'mistral'],
  [/^sonar/, 'perplexity'],
  [/^grok/, 'xai'],
  [/^(llama|gemma|openai\/|qwen\/|moonshotai\/|meta-llama\/)/, 'groq'],
];
/** What a busy DeepSeek puts before and between: comments in streams, empty lines before a whole body. */
const KEEP_ALIVE = ': keep-alive\n\n';
const LEADING_BLANK_LINES = '\n\n\n';
const PERPLEXITY_INPUT_USD_PER_MTOK = 3;
const PERPLEXITY_OUTPUT_USD_PER_MTOK = 15;
const PERPLEXITY_REQUEST_USD = 0.006;

/** prov_d: OpenAI-compatible servers; the model's name or the rule's variant says whose dialect is spoken. */
export function compatible(request: SimRequest): Reply {
  const { method } = request;
  const path = request.path.startsWith('/v1/') ? request.path.slice('/v1'.length) : request.path;
  if (path === '/models' && (method === 'GET' || method === 'HEAD')) {
    const data = LISTED_MODELS.prov_d.map((id) => ({ id, object: 'model', owned_by: 'deepseek' }));
    return jsonReply(200, { object: 'list', data });
  }
  if (path !== '/chat/completions' || method !== 'POST')
    return openAiError(404, `Not Found (${method} ${request.path})`);
  const { json } = request;
  const model = stringIn(json, 'model');
  if (json === null || model === null) return openAiError(400, 'Model Not Exist');
  if (!Array.isArray(json.messages)) return openAiError(400, 'missing field `messages`');
  const cap = tokenCap(json, ['max_completion_tokens', 'max_tokens']);
  if (cap.invalid !== null)
    return openAiError(400, `Invalid ${cap.invalid} value, expected a positive integer`);
  const inputTokens = tokensOfBytes(textBytes(json.messages) + textBytes(json.tools));
  const generation = generate(request, { model, inputTokens, capTokens: cap.tokens });
  const dialect = dialectOf(generation);
  return json.stream === true ? stream(request, generation, dialect) : whole(request, generation, dialect);
}

function dialectOf(generation: Generation): Dialect {
  const scripted = DIALECTS.find((dialect) => dialect === generation.rule.variant);
  if (scripted !== undefined) return scripted;
  return MODEL_PREFIXES.find(([prefix]) => prefix.test(generation.requestedModel))?.[1] ?? 'deepseek';
}

function compatibleUsage(usage: SimUsage, dialect: Dialect): JsonObject {
  const prompt = promptTokens(usage);
  const counts = {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
  };
  const cached = { cached_tokens: usage.cachedTokens };
  const reasoning = { reasoning_tokens: usage.reasoningTokens };
  switch (dialect) {
    case 'deepseek':
      return {
        ...counts,
        prompt_tokens_details: cached,
        completion_tokens_details: reasoning,
        prompt_cache_hit_tokens: usage.cachedTokens,
        prompt_cache_miss_tokens: prompt - usage.cachedTokens,
      };
    case 'groq':
      return {
        queue_time: 0.037,
        prompt_time: 0.0006,
        completion_time: 0.0462,
        total_time: 0.0468,
        ...counts,
        prompt_tokens_details: usage.cachedTokens > 0 ? cached : undefined,
        completion_tokens_details: usage.reasoningTokens > 0 ? reasoning : undefined,
      };
    case 'mistral': {
      const seconds = usage.audioSeconds > 0 ? usage.audioSeconds : undefined;
      return { ...counts, prompt_tokens_details: cached, prompt_audio_seconds: seconds };
    }
    case 'perplexity':
      return { ...counts, ...perplexityExtras(usage, prompt) };
    case 'xai':
      return {
        ...counts,
        prompt_tokens_details: {
          text_tokens: prompt - usage.audioInputTokens - usage.imageInputTokens,
          audio_tokens: usage.audioInputTokens,
          image_tokens: usage.imageInputTokens,
          ...cached,
        },
        completion_tokens_details: {
          ...reasoning,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
        num_sources_used: usage.webSearches,
      };
  }
}

function perplexityExtras(usage: SimUsage, prompt: number): JsonObject {
  const inputCost = (prompt * PERPLEXITY_INPUT_USD_PER_MTOK) / 1e6;
  const outputCost = (usage.outputTokens * PERPLEXITY_OUTPUT_USD_PER_MTOK) / 1e6;
  return {
    search_context_size: 'low',
    num_search_queries: usage.webSearches || undefined,
    reasoning_tokens: usage.reasoningTokens || undefined,
    cost: {
      input_tokens_cost: inputCost,
      output_tokens_cost: outputCost,
      request_cost: PERPLEXITY_REQUEST_USD,
      total_cost: inputCost + outputCost + PERPLEXITY_REQUEST_USD,
    },
  };
}

function envelope(request: SimRequest, generation: Generation, object: string): JsonObject {
  const id = idFor(request, '');
  return { id, object, created: request.createdSeconds, model: generation.servedModel };
}

function whole(request: SimRequest, generation: Generation, dialect: Dialect): Reply {
  const reasoned = dialect === 'deepseek' && generation.usage.reasoningTokens > 0;
  const message = {
    role: 'assistant',
    content: generation.text,
    reasoning_content: reasoned ? 'A short answer will do.' : undefined,
  };
  const body: JsonObject = {
    ...envelope(request, generation, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: generation.capped ? 'length' : 'stop' }],
    usage: reportedUsage(generation, (usage) => compatibleUsage(usage, dialect)),
  };
  if (dialect === 'groq') body.x_groq = { id: idFor(request, 'req_') };
  if (dialect === 'perplexity') body.citations = ['https://example.com/source'];
  const lines = dialect === 'deepseek' ? LEADING_BLANK_LINES : '';
  const headers = { 'content-type': 'application/json' };
  return { kind: 'whole', status: 200, headers, body: lines + JSON.stringify(body), bill: generation };
}

function stream(request: SimRequest, generation: Generation, dialect: Dialect): Reply {
  const head = envelope(request, generation, 'chat.completion.chunk');
  const chunk = (delta: JsonObject, finish: string | null, more: JsonObject): string =>
    dataEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...more });
  const usageAt = (outputTokens: number): Json | undefined =>
    reportedUsage(generation, (usage) => compatibleUsage(usageUntil(usage, outputTokens), dialect));
  const repeatsUsage = dialect === 'xai' || dialect === 'perplexity';
  const opening = dialect === 'groq' ? { x_groq: { id: idFor(request, 'req_') } } : {};
  const frames: Frame[] = [];
  const keepAlive = () => {
    if (dialect === 'deepseek')
      frames.push({ bytes: KEEP_ALIVE, outputTokens: frames.at(-1)?.outputTokens ?? 0 });
  };
  keepAlive();
  frames.push({ bytes: chunk({ role: 'assistant', content: '' }, null, opening), outputTokens: 0 });
  keepAlive();
  for (const { text, outputTokens } of pieces(generation)) {
    const more = repeatsUsage ? { usage: usageAt(outputTokens) } : {};
    frames.push({ bytes: chunk({ content: text }, null, more), outputTokens });
  }
  const { outputTokens } = generation.usage;
  const usage = usageAt(outputTokens);
  const closing = dialect === 'groq' ? { x_groq: { id: idFor(request, 'req_'), usage } } : { usage };
  const finish = generation.capped ? 'length' : 'stop';
  frames.push({ bytes: chunk(dialect === 'mistral' ? { content: '' } : {}, finish, closing), outputTokens });
  const withUsage = objectIn(request.json, 'stream_options')?.include_usage === true;
  if (dialect === 'groq' && withUsage)
    frames.push({ bytes: dataEvent({ ...head, choices: [], usage }), outputTokens });
  frames.push({ bytes: 'data: [DONE]\n\n', outputTokens });
  const message = 'The server is overloaded.';
  const error = { message, type: 'service_unavailable_error', param: null, code: null };
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
  return { kind: 'stream', headers, frames, errorFrame: dataEvent({ error }), bill: generation };
}
