import { Type } from 'typebox';
import { MAX_TEXT_CHARACTERS } from './operation.ts';

/** Text on one line, possibly empty: whether something has to stand there depends on the field beside it. */
const ONE_LINE = '^[^\\u0000-\\u001f\\u007f]*$';

export function scopeName(description: string) {
  const line = Type.String({ maxLength: MAX_TEXT_CHARACTERS, pattern: ONE_LINE });
  return Type.Union([line, Type.Null()], { description });
}
