/** A name as the caller gave it, without the white space around it; null when nothing is left. */
export function readScopeName(given: string | null | undefined): string | null {
  return given?.trim() || null;
}
