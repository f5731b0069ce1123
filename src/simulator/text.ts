/** Common words, most of them one token to current tokenizers; the others keep multi-byte text on the wire. */
const WORDS =
  'the model reads each request and returns a short answer with clear words so that every café naïve test can see what was sent über the wire'.split(
    ' ',
  );

/** A larger usage is billed all the same, only its text stops here. */
export const MAX_TEXT_WORDS = 4_096;

const WORD_ENDS: number[] = [0];
const LONGEST_TEXT = buildLongestText();

function buildLongestText(): string {
  let text = '';
  for (let index = 0; index < MAX_TEXT_WORDS; index += 1) {
    text += (index === 0 ? '' : ' ') + WORDS[index % WORDS.length];
    WORD_ENDS.push(text.length);
  }
  return text;
}

export function textOfTokens(tokens: number): string {
  return LONGEST_TEXT.slice(0, WORD_ENDS[Math.max(0, Math.min(tokens, MAX_TEXT_WORDS))]);
}

/** Cuts text into about equal pieces without splitting a character. */
export function cutText(text: string, pieces: number): string[] {
  if (text.length === 0) return [];
  const count = Math.max(1, Math.min(pieces, text.length));
  const cut: string[] = [];
  let start = 0;
  for (let index = 1; index <= count; index += 1) {
    let end = Math.round((text.length * index) / count);
    const next = text.charCodeAt(end);
    if (next >= 0xdc00 && next <= 0xdfff) end += 1;
    if (end > start) cut.push(text.slice(start, end));
    start = Math.max(start, end);
  }
  return cut;
}
