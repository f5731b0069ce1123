import type { Json, JsonObject } from './json.ts';
import type { SimUsage } from './usage.ts';

/** What the provider charges for a call that runs to its end. */
export interface Bill {
  readonly requestedModel: string;
  readonly servedModel: string;
  readonly usage: SimUsage;
}

/** One write of a stream; `outputTokens` is how many output tokens exist once it is on the wire. */
export interface Frame {
  readonly bytes: string;
  readonly outputTokens: number;
}

export type ReplyHeaders = Record<string, string | string[]>;

export type Reply =
  | {
      readonly kind: 'whole';
      readonly status: number;
      readonly headers: ReplyHeaders;
      readonly body: string | Buffer;
      readonly bill: Bill | null;
    }
  | {
      readonly kind: 'stream';
      readonly headers: ReplyHeaders;
      readonly frames: readonly Frame[];
      /** The provider's way to report an error after a 200. */
      readonly errorFrame: string;
      readonly bill: Bill | null;
    };

const JSON_HEADERS: ReplyHeaders = { 'content-type': 'application/json' };

export function jsonReply(
  status: number,
  body: JsonObject,
  bill: Bill | null = null,
  headers: ReplyHeaders = {},
): Reply {
  return {
    kind: 'whole',
    status,
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(body),
    bill,
  };
}

export function dataEvent(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function namedEvent(name: string, data: Json): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
