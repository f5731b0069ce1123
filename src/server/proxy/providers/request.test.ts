import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Provider } from '../../../contract/providers.ts';
import { type RequestFacts, readRequest, requestText } from './index.ts';

function facts(provider: Provider, path: string, body: unknown, method = 'POST'): RequestFacts {
  return readRequest(provider, method, path, 'application/json', Buffer.from(JSON.stringify(body)));
}

describe('what a request does', () => {
  const cases: readonly [Provider, string, string, RequestFacts['kind'], string, RequestFacts['wire']][] = [
    ['prov_a', 'POST', '/v1/chat/completions', 'inference', 'chat.completions', 'openai'],
    ['prov_a', 'POST', '/v1//chat/completions/?x=1', 'inference', 'chat.completions', 'openai'],
    ['prov_a', 'POST', '/v1/responses?beta=true', 'inference', 'responses', 'openai'],
    ['prov_a', 'POST', '/v1/responses/input_tokens', 'free', 'responses.input_tokens', 'openai'],
    ['prov_a', 'POST', '/v1/responses/resp_1/cancel', 'reread', 'responses.cancel', 'openai'],
    ['prov_a', 'GET', '/v1/responses/resp_1?stream=true', 'reread', 'other', 'openai'],
    ['prov_a', 'GET', '/v1/models', 'free', 'models', 'openai'],
    ['prov_a', 'POST', '/v1/moderations', 'free', 'moderations', 'openai'],
    ['prov_a', 'POST', '/v1/files', 'free', 'files', 'openai'],
    ['prov_a', 'POST', '/v1/batches', 'unknown', 'batches', 'openai'],
    ['prov_a', 'POST', '/v1/embeddings', 'inference', 'embeddings', 'openai'],
    ['prov_a', 'POST', '/v1/something/new', 'unknown', 'other', 'openai'],
    ['prov_b', 'POST', '/v1/messages?beta=true', 'inference', 'messages', 'anthropic'],
    ['prov_b', 'POST', '/messages', 'inference', 'messages', 'anthropic'],
    ['prov_b', 'POST', '/v1/messages/count_tokens', 'free', 'messages.count_tokens', 'anthropic'],
    ['prov_b', 'POST', '/v1/messages/batches', 'unknown', 'messages.batches', 'anthropic'],
    ['prov_b', 'GET', '/v1/messages/batches/b/results', 'reread', 'other', 'anthropic'],
    ['prov_b', 'HEAD', '/', 'free', 'root', 'anthropic'],
    ['prov_b', 'POST', '/v1/chat/completions', 'inference', 'chat.completions', 'openai'],
    ['prov_c', 'POST', '/v1beta/models/g:countTokens', 'free', 'countTokens', 'gemini'],
    ['prov_c', 'POST', '/v1beta/models/g:batchEmbedContents', 'inference', 'batchEmbedContents', 'gemini'],
    ['prov_c', 'POST', '/v1beta/models/g:constructor', 'unknown', 'other', 'gemini'],
    ['prov_c', 'POST', '/v1beta/openai/chat/completions', 'inference', 'chat.completions', 'openai'],
    ['prov_d', 'POST', '/chat/completions', 'inference', 'chat.completions', 'openai'],
    ['prov_d', 'POST', '/anthropic/v1/messages', 'inference', 'messages', 'anthropic'],
    ['prov_d', 'POST', '/beta/completions', 'inference', 'completions', 'openai'],
  ];
  test.each(cases)('%s %s %s is %s (%s)', (provider, method, path, kind, endpoint, wire) => {
    expect(readRequest(provider, method, path, undefined, Buffer.alloc(0))).toMatchObject({
      kind,
      endpoint,
      wire,
    });
  });
});

describe('what a request asks for', () => {
  test('an OpenAI chat request', () => {
    const body = {
      messages: [{ role: 'user', content: '"model":"decoy","max_tokens":7' }],
      model: 'gpt-4o',
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 500,
      n: 3,
      service_tier: 'fast',
    };
    expect(facts('prov_a', '/v1/chat/completions', body)).toEqual({
      kind: 'inference',
      endpoint: 'chat.completions',
      wire: 'openai',
      modelRequested: 'gpt-4o',
      stream: true,
      streamUsageAsked: true,
      outputCap: 500,
      choices: 3,
      tierRequested: 'priority',
      regionRequested: null,
    });
  });

  test('an Anthropic request', () => {
    const body = { model: 'claude', max_tokens: 1024, stream: true, speed: 'fast', inference_geo: 'us' };
    expect(facts('prov_b', '/v1/messages', body)).toMatchObject({
      modelRequested: 'claude',
      stream: true,
      outputCap: 1024,
      tierRequested: 'fast',
      regionRequested: 'us',
    });
  });

  test('a Gemini request, model and streaming in the path, fields in either case', () => {
    const path = '/v1beta/models/gemini%2D3.8-flash:streamGenerateContent?alt=sse';
    const camel = { generationConfig: { maxOutputTokens: 99, candidateCount: 2 }, serviceTier: 'flex' };
    const snake = { generation_config: { max_output_tokens: 99, candidate_count: 2 }, service_tier: 'flex' };
    for (const body of [camel, snake]) {
      expect(facts('prov_c', path, body)).toMatchObject({
        modelRequested: 'gemini-3.8-flash',
        stream: true,
        outputCap: 99,
        choices: 2,
        tierRequested: 'flex',
      });
    }
  });

  test('a multipart request, with a decoy inside the file', () => {
    const boundary = '----form-7';
    const file = `RIFF\r\nContent-Disposition: form-data; name="model"\r\n\r\ndecoy --${boundary} still file`;
    const body = Buffer.from(
      [
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n${file}`,
        `--${boundary}\r\nContent-Disposition: form-data; name="model"; filename="m.bin"\r\n\r\na file`,
        `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt-4o-transcribe`,
        `--${boundary}\r\ncontent-disposition: form-data; name=stream\r\n\r\ntrue`,
        `--${boundary}--\r\n`,
      ].join('\r\n'),
    );
    const contentType = `multipart/form-data; boundary="${boundary}"`;
    expect(readRequest('prov_a', 'POST', '/v1/audio/transcriptions', contentType, body)).toMatchObject({
      modelRequested: 'gpt-4o-transcribe',
      stream: true,
      choices: 1,
    });
  });

  test.each([
    [-1, null],
    ['4096', null],
    [1.5, null],
    [null, null],
    [0, 0],
    [1e308, 10_000_000],
    [4096, 4096],
  ])('an output cap of %j counts as %j', (max_tokens, cap) => {
    expect(facts('prov_a', '/v1/chat/completions', { max_tokens }).outputCap).toBe(cap);
  });

  test.each([
    [1e6, 128],
    [-5, 1],
    ['3', 1],
    [0, 1],
    [4, 4],
  ])('n of %j counts as %j choices', (n, choices) => {
    expect(facts('prov_a', '/v1/chat/completions', { n }).choices).toBe(choices);
  });

  test('a model name is bounded and free of control characters', () => {
    const { modelRequested } = facts('prov_a', '/v1/chat/completions', {
      model: `a\u0000\r\nb${'é'.repeat(500)}`,
    });
    expect(modelRequested?.startsWith('abé')).toBe(true);
    expect(Buffer.byteLength(modelRequested ?? '')).toBeLessThanOrEqual(256);
  });

  test('no body whatever makes reading fail', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<Provider>('prov_a', 'prov_b', 'prov_c', 'prov_d'),
        fc.string({ unit: 'binary' }),
        fc.uint8Array(),
        fc.constantFrom(
          undefined,
          'application/json',
          'multipart/form-data; boundary=x',
          'multipart/form-data',
        ),
        (provider, path, body, contentType) => {
          readRequest(provider, 'POST', `/${path}`, contentType, Buffer.from(body));
          requestText(Buffer.from(body));
        },
      ),
    );
  });
});

describe('the text of a request', () => {
  const textOf = (body: unknown): string => requestText(Buffer.from(JSON.stringify(body)));

  test('holds roles, messages, instructions and tools, and no media or control fields', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(5000)}` } };
    const text = textOf({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
      ],
      tools: [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }],
    });
    expect(text).toBe(
      'system\nBe brief.\nuser\nWhat is this?\n[{"type":"function","function":{"name":"lookup","parameters":{"type":"object"}}}]',
    );
  });

  test('leaves out inline media of every provider', () => {
    const data = Buffer.alloc(3000, 7).toString('base64');
    const anthropic = {
      system: 'S',
      messages: [{ role: 'user', content: [{ type: 'image', source: { data } }] }],
    };
    const gemini = {
      contents: [{ role: 'user', parts: [{ text: 'T' }, { inlineData: { mimeType: 'image/png', data } }] }],
    };
    expect(textOf(anthropic)).toBe('S\nuser');
    expect(textOf(gemini)).toBe('user\nT');
  });

  test('stands for token ids one by one', () => {
    expect(textOf({ model: 'm', input: [[1, 2, 3]] })).toBe(' a a a');
  });

  test('of a form is its fields without files', () => {
    const body = '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na cat\r\n--b--\r\n';
    expect(requestText(Buffer.from(body))).toBe('a cat');
  });

  test('is bounded', () => {
    expect(textOf({ input: 'word '.repeat(2_000_000) }).length).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});
