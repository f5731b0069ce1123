/**
 * Invoices call models by other names than requests do: `gpt-4o-mini-2024-07-18, cached input`, `Claude Haiku 4.5`,
 * `Generate content input token count gemini 2.5 flash short input text`. A key is what all spellings of one
 * model have in common; keys match exactly or not at all, so that `gpt-5` never takes in `gpt-5-mini`.
 */
const DATE_SUFFIX = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/;
const CLAUDE_3 = /^claude-(\d+(?:-\d+)?)-(opus|sonnet|haiku)$/;
/** What a line says about the tokens after it has named the model. */
const AFTER_THE_MODEL = new Set(
  (
    'input output text token tokens usage short long cached caching cache read reads write writes batch flex ' +
    'priority standard context prediction predictions completion completions prompt prompts thinking request requests'
  ).split(' '),
);
const MEDIA = new Set(['image', 'audio', 'video']);
const MODEL_LIKE =
  /^(ft-)?(gpt|chatgpt|o\d|codex|claude|gemini|gemma|imagen|veo|lyria|deepseek|text-embedding|embedding|whisper|tts|dall-e|sora|davinci|babbage|computer-use|omni|mistral|ministral|magistral|codestral|devstral|pixtral|llama|qwen|kimi|sonar|grok|command)(-|\d|$)/;

export function modelKey(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/^models\//, '')
    // A fine-tuned model is billed by what it was made from.
    .replace(/^ft:([^:]+).*$/, 'ft-$1')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .replace(DATE_SUFFIX, '');
  return plain.replace(CLAUDE_3, 'claude-$2-$1');
}

/** The model that a text on an invoice is about: its key, or null when it is about none. */
export function findModelKey(text: string, isModel: boolean, known: ReadonlySet<string>): string | null {
  const words = modelWords(text);
  let key = modelKey(words.join(' '));
  while (!known.has(key) && dropLastRemark(words)) key = modelKey(words.join(' '));
  if (key === '') return null;
  return isModel || known.has(key) || MODEL_LIKE.test(key) ? key : null;
}

function modelWords(text: string): string[] {
  const named = text
    .replace(/^.*\|/, '')
    .replace(/^.*?\btoken count(?: for)?\s+/i, '')
    .split(/,|\s[-–]\s|\(/)[0]!;
  return named.split(/\s+/).filter((word) => word !== '');
}

/** Takes one remark off the end; false when there is none. The first word is never a remark. */
function dropLastRemark(words: string[]): boolean {
  if (words.length < 2) return false;
  const last = words.at(-1)!.toLowerCase();
  const before = words.at(-2)!.toLowerCase();
  if (MEDIA.has(last) && words.length > 2 && (before === 'input' || before === 'output')) {
    words.length -= 2;
    return true;
  }
  if (!AFTER_THE_MODEL.has(last)) return false;
  words.length -= 1;
  return true;
}
