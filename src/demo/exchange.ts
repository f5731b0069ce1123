import type { Workload } from './company.ts';

export type ModelOf = Workload['models'][number];

/** The very request a client of that provider sends; the path is the one after the provider's name. */
export interface Exchange {
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

export function exchangeOf(
  { provider, model, embeds }: ModelOf,
  asked: { stream: boolean; instructions: string; text: string; maxTokens: number },
): Exchange {
  const { stream, instructions, text, maxTokens } = asked;
  const json = { 'content-type': 'application/json' };
  if (embeds) return { path: '/v1/embeddings', headers: json, body: { model, input: text } };
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: text },
  ];
  switch (provider) {
    case 'prov_a':
      return {
        path: '/v1/chat/completions',
        headers: json,
        body: {
          model,
          messages,
          max_completion_tokens: maxTokens,
          ...(stream && { stream, stream_options: { include_usage: true } }),
        },
      };
    case 'prov_b':
      return {
        path: '/v1/messages',
        headers: { ...json, 'anthropic-version': '2023-06-01' },
        body: {
          model,
          max_tokens: maxTokens,
          system: instructions,
          messages: messages.slice(1),
          ...(stream && { stream }),
        },
      };
    case 'prov_c':
      return {
        path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        headers: json,
        body: {
          systemInstruction: { parts: [{ text: instructions }] },
          contents: [{ role: 'user', parts: [{ text }] }],
          generationConfig: { maxOutputTokens: maxTokens },
        },
      };
    case 'prov_d':
      return {
        path: '/chat/completions',
        headers: json,
        body: {
          model,
          messages,
          max_tokens: maxTokens,
          ...(stream && { stream, stream_options: { include_usage: true } }),
        },
      };
  }
}
