import { grouped } from './format.ts';

/** What a terminal would obey instead of show: control characters and marks that reorder text. */
const UNSHOWABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point
  /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const COMBINING = /\p{Mark}|\u200b|\u200d/u;
const ELLIPSIS = '…';

/** Names come from strangers' request headers: shown, they must not steer the terminal. */
export function showable(text: string): string {
  return text.replace(UNSHOWABLE, '\ufffd');
}

/** How many terminal cells a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += cellsOf(character);
  return width;
}

/** Cut to so many cells, with a mark that something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = widthOf(ELLIPSIS);
  for (const character of text) {
    used += cellsOf(character);
    if (used > width) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

function cellsOf(character: string): number {
  if (COMBINING.test(character)) return 0;
  return isWide(character.codePointAt(0)!) ? 2 : 1;
}

/** East Asian wide forms and emoji, by the blocks terminals agree on. */
function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}
