import type { Provider } from '../../../contract/providers.ts';
import { JsonSkimmer } from '../tap/json-skimmer.ts';
import type { SkimNode } from '../tap/skim-shape.ts';
import { TextSink } from '../tap/text-sink.ts';
import { ANTHROPIC_REQUEST, anthropicRequest } from './anthropic.ts';
import { GEMINI_REQUEST, geminiRequest } from './gemini.ts';
import { multipartFields } from './multipart.ts';
import { OPENAI_REQUEST, openaiRequest } from './openai.ts';
import type { RequestFacts } from './request-facts.ts';
import { routeOf } from './routes.ts';
import type { Wire } from './wire.ts';

export type { RequestFacts } from './request-facts.ts';
export { requestText } from './request-text.ts';
export { openUsageReader, type Reading, type ResponseHead, type UsageReader } from './usage-reader.ts';

type Values = Readonly<Record<string, unknown>>;

interface RequestShape {
  shape: SkimNode;
  facts(values: Values): Partial<RequestFacts>;
}

const REQUEST_SHAPES: Record<Wire, RequestShape> = {
  openai: { shape: OPENAI_REQUEST, facts: openaiRequest },
  anthropic: { shape: ANTHROPIC_REQUEST, facts: anthropicRequest },
  gemini: { shape: GEMINI_REQUEST, facts: geminiRequest },
};

/**
 * What a request asks for. `path` is the raw path after the provider prefix, query included. Never fails: a
 * body that cannot be read leaves its facts at their defaults, and the upstream will say what is wrong with it.
 */
export function readRequest(
  provider: Provider,
  method: string,
  path: string,
  contentType: string | undefined,
  body: Buffer,
): RequestFacts {
  const route = routeOf(provider, method, path);
  const { shape, facts } = REQUEST_SHAPES[route.wire];
  const stated = body.length === 0 ? {} : facts(bodyValues(contentType, shape, body));
  return {
    kind: route.kind,
    endpoint: route.endpoint,
    wire: route.wire,
    modelRequested: route.pathModel ?? stated.modelRequested ?? null,
    stream: route.pathStreams || stated.stream === true,
    streamUsageAsked: stated.streamUsageAsked === true,
    outputCap: stated.outputCap ?? null,
    choices: stated.choices ?? 1,
    tierRequested: stated.tierRequested ?? null,
    regionRequested: stated.regionRequested ?? null,
  };
}

function bodyValues(contentType: string | undefined, shape: SkimNode, body: Buffer): Values {
  const fields = multipartFields(contentType, body);
  if (fields !== null) return { ...fields, stream: fields.stream === 'true', n: Number(fields.n) };
  let found: Values | null = null;
  const skimmer = new JsonSkimmer(shape, new TextSink(), ({ values }) => {
    found ??= values;
  });
  skimmer.push(body, 0, body.length);
  skimmer.end();
  return found ?? {};
}
