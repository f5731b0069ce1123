import type { Provider } from '../../contract/providers.ts';

/** How one client is pointed at the gateway. */
export interface Snippet {
  id: string;
  label: string;
  provider: Provider;
  note: string;
  code: (place: { proxy: string; key: string }) => string;
}

export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'curl',
    label: 'curl',
    provider: 'prov_a',
    note: 'The same call as to the provider, to another address and with another key.',
    code: ({ proxy, key }) => `curl ${proxy}/openai/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -H "X-Gateway-Service: getting-started" \\
  -d '{"model": "gpt-5-mini", "max_completion_tokens": 200,
       "messages": [{"role": "user", "content": "Say hello."}]}'`,
  },
  {
    id: 'openai',
    label: 'OpenAI SDK',
    provider: 'prov_a',
    note: 'Python shown; in JavaScript the options are baseURL and apiKey.',
    code: ({ proxy, key }) => `from openai import OpenAI

client = OpenAI(
    base_url="${proxy}/openai/v1",
    api_key="${key}",
)

answer = client.responses.create(model="gpt-5-mini", input="Say hello.")
print(answer.output_text)`,
  },
  {
    id: 'anthropic',
    label: 'Anthropic SDK',
    provider: 'prov_b',
    note: 'Python shown; in JavaScript the options are baseURL and apiKey.',
    code: ({ proxy, key }) => `from anthropic import Anthropic

client = Anthropic(
    base_url="${proxy}/anthropic",
    api_key="${key}",
)

message = client.messages.create(
    model="claude-opus-5",
    max_tokens=200,
    messages=[{"role": "user", "content": "Say hello."}],
)
print(message.content[0].text)`,
  },
  {
    id: 'google',
    label: 'Google Gen AI',
    provider: 'prov_c',
    note: 'JavaScript shown; in Python the option is http_options with base_url.',
    code: ({ proxy, key }) => `import { GoogleGenAI } from '@google/genai';

const ai = new GoogleGenAI({
  apiKey: '${key}',
  httpOptions: { baseUrl: '${proxy}/gemini' },
});

const answer = await ai.models.generateContent({
  model: 'gemini-2.5-flash',
  contents: 'Say hello.',
});
console.log(answer.text);`,
  },
  {
    id: 'vercel',
    label: 'Vercel AI SDK',
    provider: 'prov_a',
    note: 'createAnthropic and createGoogleGenerativeAI take the same two options.',
    code: ({ proxy, key }) => `import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';

const openai = createOpenAI({
  baseURL: '${proxy}/openai/v1',
  apiKey: '${key}',
});

const { text } = await generateText({
  model: openai('gpt-5-mini'),
  prompt: 'Say hello.',
});`,
  },
  {
    id: 'langchain',
    label: 'LangChain',
    provider: 'prov_a',
    note: 'ChatAnthropic takes base_url and api_key as well.',
    code: ({ proxy, key }) => `from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model="gpt-5-mini",
    base_url="${proxy}/openai/v1",
    api_key="${key}",
    default_headers={"X-Gateway-Service": "my-chain"},
)
print(model.invoke("Say hello.").content)`,
  },
  {
    id: 'claude-code',
    label: 'Claude Code',
    provider: 'prov_b',
    note: 'Set both in the shell that starts Claude Code, or under "env" in its settings.json.',
    code: ({ proxy, key }) => `export ANTHROPIC_BASE_URL="${proxy}/anthropic"
export ANTHROPIC_AUTH_TOKEN="${key}"
export ANTHROPIC_CUSTOM_HEADERS="X-Gateway-Agent: claude-code"
claude`,
  },
  {
    id: 'codex',
    label: 'Codex',
    provider: 'prov_a',
    note: 'In ~/.codex/config.toml; the key is read from GATEWAY_KEY.',
    code: ({ proxy, key }) => `model = "gpt-5"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${proxy}/openai/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
http_headers = { "X-Gateway-Agent" = "codex" }

# then: export GATEWAY_KEY="${key}"`,
  },
];
