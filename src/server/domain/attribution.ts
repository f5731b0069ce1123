/**
 * Who a request is charged to, read from its `X-Gateway-*` headers. All of it is text from a stranger: it is
 * cut, cleaned and kept as data, and nothing in it can make a request fail.
 */
export interface Team {
  id: string;
  slug: string;
  name: string;
}

/** What the key itself is bound to; it wins over the headers. */
export interface KeyScope {
  team_id: string | null;
  service: string | null;
}

export interface Attribution {
  team: Team | null;
  service: string | null;
  user: string | null;
  end_customer: string | null;
  agent: string | null;
  tags: Record<string, string>;
}

/** Teams by id, slug and name. */
export type TeamDirectory = ReadonlyMap<string, Team>;

const MAX_ATTRIBUTION_BYTES = 256;
const MAX_TAGS = 32;
const MAX_TAG_KEY_BYTES = 64;
/** The tag that keeps the text of a team header no team answers to. */
const TEAM_HEADER_TAG = 'team_header';

const GATEWAY_HEADER_PREFIX = 'x-gateway-';
const TAGS_HEADER = 'x-gateway-tags';
const TAG_HEADER_PREFIX = 'x-gateway-tag-';
const DIMENSION_HEADERS: Readonly<Record<string, 'team' | 'service' | 'user' | 'end_customer' | 'agent'>> = {
  'x-gateway-team': 'team',
  'x-gateway-service': 'service',
  'x-gateway-user': 'user',
  'x-gateway-end-customer': 'end_customer',
  'x-gateway-agent': 'agent',
};
const CONTROL_CHARACTER = /\p{Cc}/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const NOT_ASCII = /[^\0-\x7f]/;
const NOT_LATIN1 = /[^\0-\xff]/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** None of these is ever forwarded to a provider. */
export function isGatewayHeader(lowerName: string): boolean {
  return lowerName.startsWith(GATEWAY_HEADER_PREFIX);
}

/** An id beats a slug and a slug a name, so that nobody can take over a team by naming another after it. */
export function makeTeamDirectory(teams: readonly Team[]): TeamDirectory {
  const directory = new Map<string, Team>();
  for (const field of ['id', 'slug', 'name'] as const) {
    for (const team of teams) {
      if (!directory.has(team[field])) directory.set(team[field], team);
    }
  }
  return directory;
}

/** `rawHeaders` as node gives them: name, value, name, value. Of a header sent twice the first counts. */
export function readAttribution(
  rawHeaders: readonly string[],
  scope: KeyScope,
  teams: TeamDirectory,
): Attribution {
  const found: Partial<Record<'team' | 'service' | 'user' | 'end_customer' | 'agent', string>> = {};
  const tags = new Map<string, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (!isGatewayHeader(name)) continue;
    const value = decodeHeader(rawHeaders[index + 1]!);
    const dimension = Object.hasOwn(DIMENSION_HEADERS, name) ? DIMENSION_HEADERS[name] : undefined;
    if (dimension !== undefined) found[dimension] ??= cleanText(value, MAX_ATTRIBUTION_BYTES) || undefined;
    else if (name === TAGS_HEADER) readTagList(value, tags);
    else if (name.startsWith(TAG_HEADER_PREFIX)) addTag(name.slice(TAG_HEADER_PREFIX.length), value, tags);
  }

  const headerTeam = found.team === undefined ? undefined : teams.get(found.team);
  const team = scope.team_id === null ? headerTeam : scopedTeam(scope.team_id, teams);
  const unknownTeam = team === undefined ? found.team : undefined;
  return {
    team: team ?? null,
    service: scope.service ?? found.service ?? null,
    user: found.user ?? null,
    end_customer: found.end_customer ?? null,
    agent: found.agent ?? null,
    tags: tagsWithTeamHeader(tags, unknownTeam),
  };
}

/** A key outlives a rename or a stale directory: its budget must hold even when the team cannot be shown. */
function scopedTeam(teamId: string, teams: TeamDirectory): Team {
  const team = teams.get(teamId);
  return team?.id === teamId ? team : { id: teamId, slug: teamId, name: teamId };
}

function tagsWithTeamHeader(
  tags: Map<string, string>,
  unknownTeam: string | undefined,
): Record<string, string> {
  // fromEntries defines the keys as its own: a tag called `__proto__` stays a tag.
  if (unknownTeam === undefined) return Object.fromEntries(tags);
  tags.delete(TEAM_HEADER_TAG);
  return Object.fromEntries([[TEAM_HEADER_TAG, unknownTeam] as const, ...[...tags].slice(0, MAX_TAGS - 1)]);
}

function readTagList(list: string, tags: Map<string, string>): void {
  for (const pair of list.split(',')) {
    if (tags.size >= MAX_TAGS) return;
    const equals = pair.indexOf('=');
    if (equals > 0)
      addTag(percentDecoded(pair.slice(0, equals)), percentDecoded(pair.slice(equals + 1)), tags);
  }
}

function addTag(key: string, value: string, tags: Map<string, string>): void {
  const cleanKey = cleanText(key, MAX_TAG_KEY_BYTES);
  if (cleanKey === '' || tags.size >= MAX_TAGS || tags.has(cleanKey)) return;
  tags.set(cleanKey, cleanText(value, MAX_ATTRIBUTION_BYTES));
}

/** A stray percent sign is more likely part of the text than worth losing the tag for. */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Node hands header bytes over as latin1; what was sent as UTF-8 becomes UTF-8 again. */
function decodeHeader(value: string): string {
  if (!NOT_ASCII.test(value) || NOT_LATIN1.test(value)) return value;
  try {
    return UTF8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

function cleanText(text: string, maxBytes: number): string {
  const clean = text.replace(CONTROL_CHARACTER, '').replace(LONE_SURROGATE, '\ufffd').trim();
  return cutToBytes(clean, maxBytes).trimEnd();
}

function cutToBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
