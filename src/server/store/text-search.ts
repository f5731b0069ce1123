/** A LIKE pattern that finds the text anywhere, each of its characters standing for itself. */
export function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
}
