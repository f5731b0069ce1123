const MAX_SLUG_CHARACTERS = 64;
const NAMELESS_SLUG = 'team';
/** Letters that Unicode does not take apart into a base letter and a mark. */
const SPELLED_OUT: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
};

/** "Équipe Données & IA" → "equipe-donnees-ia"; a name without a Latin letter or digit → "team". */
export function deriveSlug(name: string): string {
  const letters = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[ßæœøđðþłı]/g, (letter) => SPELLED_OUT[letter]!);
  return cut(letters.replaceAll(/[^a-z0-9]+/g, '-'), MAX_SLUG_CHARACTERS) || NAMELESS_SLUG;
}

/** The slug itself, or the first of slug-2, slug-3 … that is free. */
export function chooseFreeSlug(slug: string, taken: ReadonlySet<string>): string {
  let candidate = slug;
  for (let number = 2; taken.has(candidate); number++) {
    const ending = `-${number}`;
    candidate = cut(slug, MAX_SLUG_CHARACTERS - ending.length) + ending;
  }
  return candidate;
}

function cut(slug: string, maxCharacters: number): string {
  return slug.replace(/^-+/, '').slice(0, maxCharacters).replace(/-+$/, '');
}
