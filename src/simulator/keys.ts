import { anthropicError } from './anthropic.ts';
import { geminiError } from './gemini.ts';
import { openAiError } from './openai-protocol.ts';
import { jsonReply, type Reply } from './reply.ts';
import { bearerKey, queryValue, type SimRequest } from './request.ts';

/**
 * The provider's own refusal, or null if the key will do. Without a required key any key is accepted, and
 * prov_a and prov_d ask for none; Anthropic and Gemini refuse a request without one, as the real ones do.
 */
export function refuseKey(request: SimRequest, required: string | undefined): Reply | null {
  const key = credential(request);
  switch (request.provider) {
    case 'prov_a':
      return required === undefined || key === required ? null : refusedByOpenAi(key);
    case 'prov_b':
      if (key === null) return anthropicError(request, 401, 'x-api-key header is required');
      return required === undefined || key === required
        ? null
        : anthropicError(request, 401, 'invalid x-api-key');
    case 'prov_c':
      if (key === null) return geminiError(403, UNREGISTERED);
      return required === undefined || key === required ? null : refusedByGemini();
    case 'prov_d':
      return required === undefined || key === required ? null : refusedByDeepSeek();
  }
}

const UNREGISTERED =
  "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";

function credential(request: SimRequest): string | null {
  const { headers } = request;
  if (request.provider === 'prov_c')
    return singleHeader(headers['x-goog-api-key']) ?? queryValue(request, 'key');
  if (request.provider === 'prov_b') return singleHeader(headers['x-api-key']) ?? bearerKey(request);
  return bearerKey(request);
}

function singleHeader(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function refusedByOpenAi(key: string | null): Reply {
  if (key === null) {
    return openAiError(
      401,
      "You didn't provide an API key. You need to provide your API key in an Authorization header.",
    );
  }
  const shown = `${key.slice(0, 4)}****${key.slice(-4)}`;
  const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`;
  return openAiError(401, message, null, 'invalid_api_key');
}

function refusedByGemini(): Reply {
  const reason = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
  };
  return geminiError(400, 'API key not valid. Please pass a valid API key.', [reason]);
}

function refusedByDeepSeek(): Reply {
  const message = 'Authentication Fails (governor)';
  return jsonReply(401, {
    error: { message, type: 'authentication_error', param: null, code: 'invalid_request_error' },
  });
}
