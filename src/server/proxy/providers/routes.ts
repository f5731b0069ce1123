import type { Provider } from '../../../contract/providers.ts';
import { cleanName } from './counts.ts';
import type { RequestFacts } from './request-facts.ts';
import type { Wire } from './wire.ts';

export interface Route {
  wire: Wire;
  kind: RequestFacts['kind'];
  endpoint: string;
  /** Gemini names the model in the path. */
  pathModel: string | null;
  pathStreams: boolean;
}

type KnownPath = readonly [path: RegExp, kind: RequestFacts['kind'], endpoint: string];

/** POSTs of the OpenAI shape, matched on the end of the path: base paths differ between compatible servers. */
const OPENAI_POSTS: readonly KnownPath[] = [
  [/\/chat\/completions$/, 'inference', 'chat.completions'],
  [/\/responses$/, 'inference', 'responses'],
  [/\/responses\/compact$/, 'inference', 'responses.compact'],
  [/\/responses\/input_tokens$/, 'free', 'responses.input_tokens'],
  [/\/responses\/[^/]+\/cancel$/, 'reread', 'responses.cancel'],
  [/\/embeddings$/, 'inference', 'embeddings'],
  [/\/images\/generations$/, 'inference', 'images.generations'],
  [/\/images\/edits$/, 'inference', 'images.edits'],
  [/\/images\/variations$/, 'inference', 'images.variations'],
  [/\/audio\/transcriptions$/, 'inference', 'audio.transcriptions'],
  [/\/audio\/translations$/, 'inference', 'audio.translations'],
  [/\/audio\/speech$/, 'inference', 'audio.speech'],
  [/\/fim\/completions$/, 'inference', 'fim.completions'],
  [/\/completions$/, 'inference', 'completions'],
  [/\/decisions$/, 'inference', 'decisions'],
  [/\/rerank$/, 'inference', 'rerank'],
  [/\/moderations$/, 'free', 'moderations'],
  [/\/(files|uploads)(\/[^/]+)*$/, 'free', 'files'],
  [/\/batches\/[^/]+\/cancel$/, 'free', 'batches.cancel'],
  [/\/batches$/, 'unknown', 'batches'],
];

const ANTHROPIC_POSTS: readonly KnownPath[] = [
  [/\/messages$/, 'inference', 'messages'],
  [/\/messages\/count_tokens$/, 'free', 'messages.count_tokens'],
  [/\/messages\/batches\/[^/]+\/cancel$/, 'free', 'messages.batches.cancel'],
  [/\/messages\/batches$/, 'unknown', 'messages.batches'],
  [/\/files$/, 'free', 'files'],
];

const GEMINI_CALL = /\/((?:models|tunedModels|dynamic)\/[^/:]+):([A-Za-z]+)$/;
const GEMINI_METHODS: ReadonlyMap<string, RequestFacts['kind']> = new Map([
  ['generateContent', 'inference'],
  ['streamGenerateContent', 'inference'],
  ['embedContent', 'inference'],
  ['batchEmbedContents', 'inference'],
  ['generateAnswer', 'inference'],
  ['predict', 'inference'],
  ['predictLongRunning', 'inference'],
  ['countTokens', 'free'],
]);

const GEMINI_POSTS: readonly KnownPath[] = [
  [/\/interactions$/, 'inference', 'interactions'],
  [/\/interactions\/[^/]+\/cancel$/, 'reread', 'interactions.cancel'],
  [/\/cachedContents$/, 'inference', 'cachedContents'],
  [/\/files$/, 'free', 'files'],
];

/** Reads that never showed billable usage; every other GET repeats something stored. */
const FREE_READS: readonly KnownPath[] = [
  [/\/models(\/[^/]+)*$/, 'free', 'models'],
  [/\/files(\/[^/]+)*$/, 'free', 'files'],
  [/^\/?$/, 'free', 'root'],
];

const DEFAULT_WIRE: Record<Provider, Wire> = {
  prov_a: 'openai',
  prov_b: 'anthropic',
  prov_c: 'gemini',
  prov_d: 'openai',
};

/** Most calls go to a few paths, each a walk through all the patterns. */
const MAX_REMEMBERED = 1_000;
const MAX_REMEMBERED_LENGTH = 200;
const rememberedPosts: Record<Provider, Map<string, Route>> = {
  prov_a: new Map(),
  prov_b: new Map(),
  prov_c: new Map(),
  prov_d: new Map(),
};

/** Sorts a request by what it does. `rawPath` is what follows the provider prefix, query included. */
export function routeOf(provider: Provider, method: string, rawPath: string): Route {
  if (method !== 'POST' || rawPath.length > MAX_REMEMBERED_LENGTH)
    return findRoute(provider, method, rawPath);
  const posts = rememberedPosts[provider];
  let route = posts.get(rawPath);
  if (route === undefined) {
    if (posts.size >= MAX_REMEMBERED) posts.clear();
    route = findRoute(provider, method, rawPath);
    posts.set(rawPath, route);
  }
  return route;
}

function findRoute(provider: Provider, method: string, rawPath: string): Route {
  const query = rawPath.indexOf('?');
  const path = plainPath(query < 0 ? rawPath : rawPath.slice(0, query));
  const wire = wireOf(provider, path);
  const plain = { wire, pathModel: null, pathStreams: false };
  if (method !== 'POST') {
    const [, kind, endpoint] = known(FREE_READS, path) ?? [null, restingKind(method), 'other'];
    return { ...plain, kind, endpoint };
  }
  const call = wire === 'gemini' ? GEMINI_CALL.exec(path) : null;
  if (call !== null) return geminiRoute(call[1]!, call[2]!);
  const posts = { openai: OPENAI_POSTS, anthropic: ANTHROPIC_POSTS, gemini: GEMINI_POSTS }[wire];
  const [, kind, endpoint] = known(posts, path) ?? [null, 'unknown' as const, 'other'];
  return { ...plain, kind, endpoint };
}

function geminiRoute(resource: string, method: string): Route {
  return {
    wire: 'gemini',
    kind: GEMINI_METHODS.get(method) ?? 'unknown',
    endpoint: GEMINI_METHODS.has(method) ? method : 'other',
    pathModel: cleanName(resource.replace(/^models\//, '')),
    pathStreams: method === 'streamGenerateContent',
  };
}

/** Reading and deleting never run a model; what a PUT or PATCH does is for its response to say. */
function restingKind(method: string): RequestFacts['kind'] {
  if (method === 'GET') return 'reread';
  return method === 'HEAD' || method === 'DELETE' || method === 'OPTIONS' ? 'free' : 'unknown';
}

/** Providers offer each other's shapes: Gemini under /openai/, DeepSeek under /anthropic/, Anthropic chat. */
function wireOf(provider: Provider, path: string): Wire {
  if (provider === 'prov_c' && /\/openai(\/|$)/.test(path)) return 'openai';
  if (provider === 'prov_d' && /^\/anthropic(\/|$)/.test(path)) return 'anthropic';
  if (provider === 'prov_b' && path.endsWith('/chat/completions')) return 'openai';
  return DEFAULT_WIRE[provider];
}

function known(paths: readonly KnownPath[], path: string): KnownPath | undefined {
  return paths.find(([pattern]) => pattern.test(path));
}

function plainPath(path: string): string {
  let decoded = path;
  if (path.includes('%')) {
    try {
      decoded = decodeURIComponent(path);
    } catch {
      // Left as it came: an undecodable path is the upstream's to refuse.
    }
  }
  const single = decoded.includes('//') ? decoded.replace(/\/{2,}/g, '/') : decoded;
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}
