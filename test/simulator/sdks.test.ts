import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI, { toFile } from 'openai';
import { expect, it } from 'vitest';
import { simulator } from './running.ts';

it('openai: chat and responses, whole and streamed', async () => {
  const openai = new OpenAI({
    apiKey: 'sk-x',
    baseURL: `${simulator.providerUrl('prov_a')}/v1`,
    maxRetries: 0,
  });
  const messages = [{ role: 'user' as const, content: 'twelve bytes' }];
  const chat = await openai.chat.completions.create({ model: 'gpt-4o', messages });
  expect(chat.model).toBe('gpt-4o-2024-08-06');
  expect(chat.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 16, total_tokens: 19 });
  const silent = await openai.chat.completions.create({ model: 'gpt-4o', messages, stream: true });
  for await (const chunk of silent) expect(chunk.usage).toBeUndefined();
  const told = await openai.chat.completions.stream({
    model: 'gpt-4o',
    messages,
    stream_options: { include_usage: true },
  });
  const final = await told.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe(chat.choices[0]?.message.content);
  expect(final.usage?.completion_tokens).toBe(16);
  const response = await openai.responses.create({ model: 'gpt-5', input: 'hello' });
  expect(response.output_text.length).toBeGreaterThan(10);
  const streamed = await openai.responses.stream({ model: 'gpt-5', input: 'hello' }).finalResponse();
  expect(streamed.usage).toEqual(response.usage);
  expect((await openai.responses.retrieve(response.id)).usage).toEqual(response.usage);
});

it('openai: embeddings, images, audio, moderation, models, files, batches', async () => {
  const openai = new OpenAI({
    apiKey: 'sk-x',
    baseURL: `${simulator.providerUrl('prov_a')}/v1`,
    maxRetries: 0,
  });
  const embedding = await openai.embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'b'] });
  expect(embedding.data[1]?.embedding).toHaveLength(8);
  const image = await openai.images.generate({ model: 'gpt-image-1', prompt: 'a cat' });
  expect(image.usage?.output_tokens).toBe(272);
  const drawing = await openai.images.generate({
    model: 'gpt-image-1',
    prompt: 'a cat',
    stream: true,
    partial_images: 2,
  });
  const drawn: string[] = [];
  for await (const event of drawing) drawn.push(event.type);
  expect(drawn.at(-1)).toBe('image_generation.completed');
  const file = await toFile(Buffer.alloc(40_000), 'a.wav');
  const heard = await openai.audio.transcriptions.create({ model: 'gpt-4o-transcribe', file });
  expect(heard.usage).toMatchObject({ type: 'tokens', input_token_details: { audio_tokens: 30 } });
  const timed = await openai.audio.transcriptions.create({ model: 'whisper-1', file });
  expect(timed.usage).toEqual({ type: 'duration', seconds: 3 });
  const spoken = await openai.audio.speech.create({
    model: 'gpt-4o-mini-tts',
    voice: 'alloy',
    input: 'hi',
  });
  expect((await spoken.arrayBuffer()).byteLength).toBe(16 * 64);
  expect((await openai.moderations.create({ input: 'x' })).results[0]?.flagged).toBe(false);
  expect((await openai.models.list()).data.length).toBeGreaterThan(3);
  expect((await openai.files.create({ file, purpose: 'batch' })).filename).toBe('a.wav');
  expect((await openai.batches.retrieve('batch_1')).status).toBe('completed');
  const old = await openai.completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: 'x' });
  expect(old.choices[0]?.finish_reason).toBe('length');
});

it('@anthropic-ai/sdk: messages, streams with thinking and searches, token counts, models', async () => {
  const anthropic = new Anthropic({
    apiKey: 'sk-x',
    baseURL: simulator.providerUrl('prov_b'),
    maxRetries: 0,
  });
  simulator.script('prov_b', {
    usage: {
      cachedTokens: 7,
      cacheWrite5mTokens: 5,
      cacheWrite1hTokens: 4,
      reasoningTokens: 6,
      webSearches: 1,
    },
  });
  const asked = {
    model: 'claude-sonnet-5-5',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'twelve bytes' }],
  };
  const whole = await anthropic.messages.create(asked);
  const final = await anthropic.messages.stream(asked).finalMessage();
  expect(final.content.map((block) => block.type)).toEqual(whole.content.map((block) => block.type));
  expect(final.content.at(-1)).toEqual(whole.content.at(-1));
  expect(final.usage).toMatchObject({
    input_tokens: 3,
    output_tokens: 16,
    cache_read_input_tokens: 7,
    cache_creation_input_tokens: 9,
  });
  expect(whole.usage).toMatchObject({
    cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 4 },
    output_tokens_details: { thinking_tokens: 6 },
    server_tool_use: { web_search_requests: 1 },
  });
  expect(whole.content.map((block) => block.type)).toContain('thinking');
  const { max_tokens: _, ...counted } = asked;
  expect((await anthropic.messages.countTokens(counted)).input_tokens).toBe(3);
  expect((await anthropic.models.list()).data[0]?.type).toBe('model');
});

it('@google/genai: content, streams, token counts, embeddings, models', async () => {
  const genai = new GoogleGenAI({
    apiKey: 'AIza',
    httpOptions: { baseUrl: simulator.providerUrl('prov_c') },
  });
  simulator.script('prov_c', {
    usage: { cachedTokens: 2, reasoningTokens: 5, toolUseTokens: 4, audioInputTokens: 1 },
  });
  const asked = { model: 'gemini-2.5-flash', contents: 'twelve bytes' };
  const whole = await genai.models.generateContent(asked);
  expect(whole.usageMetadata).toMatchObject({
    promptTokenCount: 5,
    candidatesTokenCount: 11,
    thoughtsTokenCount: 5,
    toolUsePromptTokenCount: 4,
    totalTokenCount: 25,
  });
  let text = '';
  let last: unknown;
  for await (const chunk of await genai.models.generateContentStream(asked)) {
    text += chunk.text ?? '';
    last = chunk.usageMetadata;
  }
  expect(text).toBe(whole.text);
  expect(last).toEqual(whole.usageMetadata);
  expect((await genai.models.countTokens(asked)).totalTokens).toBe(3);
  const embedded = await genai.models.embedContent({ model: 'gemini-embedding-2', contents: 'x' });
  expect(embedded.embeddings?.[0]?.values?.length ?? 0).toBeGreaterThan(0);
  expect((await genai.models.list()).page.length).toBeGreaterThan(2);
});

it('openai pointed at an OpenAI-compatible server: whole and streamed', async () => {
  const openai = new OpenAI({ apiKey: 'sk-x', baseURL: simulator.providerUrl('prov_d'), maxRetries: 0 });
  for (const model of [
    'deepseek-v4-flash',
    'llama-3.1-8b-instant',
    'mistral-large-latest',
    'sonar',
    'grok-4',
  ]) {
    const messages = [{ role: 'user' as const, content: 'twelve bytes' }];
    const whole = await openai.chat.completions.create({ model, messages });
    expect(whole.usage?.total_tokens).toBe(19);
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe(whole.choices[0]?.message.content);
  }
});
