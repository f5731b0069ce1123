/**
 * An upper bound on the tokens a request body can be read as, cheap enough for the hot path: one pass over the
 * bytes, no tokenizer. A budget reserves by it, so it must not be below the real count; being above only holds
 * money for the length of the request.
 *
 * Tokenizers split text into words, numbers and signs, and words into pieces. Each kind of byte is charged what
 * the worst text of its kind was seen to cost: what looks like a word one for every two and a half letters, what
 * looks like a random string far more, digits one for two, every sign one, and characters beyond ASCII by the
 * length of their encoding.
 */
const LETTERS_PER_TOKEN_IN_WORDS = 2.5;
const LETTERS_PER_TOKEN_IN_NOISE = 1.4;
/** Words have vowels; noise has capitals in its middle. */
const MIN_VOWEL_SHARE = 0.2;
const DIGITS_PER_TOKEN = 2;
const TOKENS_PER_CHARACTER_OF_BYTES = [0, 0, 1, 2, 3] as const;
/** Runs of white space become few tokens; the single space in front of a word none. */
const SPACES_PER_TOKEN = 4;

/** A longer string of nothing but base64 is a picture, a sound or a document, not text. */
const MIN_MEDIA_CHARACTERS = 1_024;
const MEDIA_SAMPLE_CHARACTERS = 256;
/** What one inline picture can cost on any of the providers. */
const TOKENS_PER_MEDIA = 5_000;

/** More than any model reads: the provider will refuse it, and counting on would only hold everybody else up. */
const MAX_TOKENS = 3_000_000;

const SIGN = 0;
const LOWER = 1;
const VOWEL = 2;
const UPPER = 3;
const DIGIT = 4;
const SPACE = 5;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const KINDS = new Uint8Array(256);
for (let byte = 0; byte < 128; byte += 1) {
  const character = String.fromCharCode(byte);
  if (/[aeiouy]/.test(character)) KINDS[byte] = VOWEL;
  else if (/[a-z]/.test(character)) KINDS[byte] = LOWER;
  else if (/[A-Z]/.test(character)) KINDS[byte] = UPPER;
  else if (/\d/.test(character)) KINDS[byte] = DIGIT;
  else if (/\s/.test(character)) KINDS[byte] = SPACE;
}

type Bytes = Uint8Array & { indexOf(value: number, from: number): number };

export function tokensAtMost(body: Bytes): number {
  let tokens = 0;
  let index = 0;
  while (index < body.length && tokens < MAX_TOKENS) {
    const byte = body[index]!;
    if (byte >= 0x80) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
      tokens += TOKENS_PER_CHARACTER_OF_BYTES[length] || 1;
      index += length;
      continue;
    }
    const mediaEnd = byte === QUOTE ? endOfMedia(body, index + 1) : 0;
    if (mediaEnd > 0) {
      tokens += TOKENS_PER_MEDIA;
      index = mediaEnd + 1;
      continue;
    }
    const kind = KINDS[byte]!;
    if (kind === SIGN) {
      tokens += 1;
      // The letter after a backslash belongs to the escape: \n is one character, not a sign and a word.
      index += byte === BACKSLASH ? 2 : 1;
      continue;
    }
    const end = kind <= UPPER ? endOfLetters(body, index) : endOfKind(body, index, kind);
    if (kind === DIGIT) tokens += Math.ceil((end - index) / DIGITS_PER_TOKEN);
    else if (kind === SPACE) tokens += Math.floor((end - index) / SPACES_PER_TOKEN);
    else tokens += tokensOfLetters(body, index, end);
    index = end;
  }
  return tokens;
}

function endOfKind(body: Bytes, start: number, kind: number): number {
  let end = start + 1;
  while (end < body.length && KINDS[body[end]!] === kind) end += 1;
  return end;
}

function endOfLetters(body: Bytes, start: number): number {
  let end = start + 1;
  while (end < body.length && KINDS[body[end]!]! >= LOWER && KINDS[body[end]!]! <= UPPER) end += 1;
  return end;
}

function tokensOfLetters(body: Bytes, start: number, end: number): number {
  let vowels = 0;
  let capitalsInside = 0;
  for (let index = start; index < end; index += 1) {
    const kind = KINDS[body[index]!];
    if (kind === VOWEL) vowels += 1;
    else if (kind === UPPER && index > start) capitalsInside += 1;
  }
  const length = end - start;
  const isWord = capitalsInside === 0 && vowels >= length * MIN_VOWEL_SHARE;
  return Math.ceil(length / (isWord ? LETTERS_PER_TOKEN_IN_WORDS : LETTERS_PER_TOKEN_IN_NOISE));
}

/** Where the string that begins here ends, if it is inline media; else 0. */
function endOfMedia(body: Bytes, start: number): number {
  if (start + MIN_MEDIA_CHARACTERS > body.length) return 0;
  const isDataUrl = matches(body, start, DATA_URL);
  if (!isDataUrl && !followsDataKey(body, start - 2)) return 0;
  const first = isDataUrl ? body.indexOf(COMMA, start) + 1 : start;
  for (let index = first; index < first + MEDIA_SAMPLE_CHARACTERS; index += 1) {
    if (!isBase64(body[index]!)) return 0;
  }
  const end = body.indexOf(QUOTE, first);
  return end - start >= MIN_MEDIA_CHARACTERS ? end : 0;
}

const DATA_URL = Buffer.from('data:');
const DATA_KEY = Buffer.from('"data"');
const COLON = 0x3a;
const COMMA = 0x2c;

/** `"data": "…"` is how Anthropic and Gemini carry media; a long string under any other key is text. */
function followsDataKey(body: Bytes, before: number): boolean {
  let index = before;
  while (index > 0 && KINDS[body[index]!] === SPACE) index -= 1;
  if (body[index] !== COLON) return false;
  index -= 1;
  while (index > 0 && KINDS[body[index]!] === SPACE) index -= 1;
  return matches(body, index - DATA_KEY.length + 1, DATA_KEY);
}

function matches(body: Bytes, at: number, text: Uint8Array): boolean {
  if (at < 0) return false;
  for (let index = 0; index < text.length; index += 1) if (body[at + index] !== text[index]) return false;
  return true;
}

function isBase64(byte: number): boolean {
  const kind = KINDS[byte]!;
  return (kind >= LOWER && kind <= DIGIT) || byte === 0x2b || byte === 0x2f || byte === 0x2d || byte === 0x5f;
}
