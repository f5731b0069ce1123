import type { Refusal } from '../../contract/errors.ts';
import type { BodyOf, Operation, QueryOf, ResponseOf } from '../../contract/operation.ts';

/** Who is asking, proved. */
export interface TenantCaller {
  kind: 'tenant';
  tenantId: string;
  email: string;
  /** The calling token, so that logging out can revoke it. */
  tokenId: string;
  tokenExpiresAtMs: number;
}

export type CallerOf<O extends Operation> = O['auth'] extends 'tenant'
  ? TenantCaller
  : { kind: O['auth'] extends 'operator' ? 'operator' : 'anyone' };

/** One part of an upload. The bytes of a file must be read before the next part is asked for. */
export type UploadPart =
  | { kind: 'field'; name: string; value: string }
  | { kind: 'file'; name: string; fileName: string | null; bytes: AsyncIterable<Uint8Array> };

export interface Call<O extends Operation> {
  body: O['upload'] extends true ? undefined : BodyOf<O>;
  /** The parts of an upload as they come; null when the body is no multipart/form-data. */
  upload: O['upload'] extends true ? AsyncIterable<UploadPart> | null : undefined;
  query: QueryOf<O>;
  params: Record<string, string>;
  caller: CallerOf<O>;
  /** The client's address, behind trusted proxies only. */
  ip: string;
  requestId: string;
}

/** Rows for a CSV file, read while they are sent. */
export interface CsvFile {
  readonly kind: 'csv';
  filename: string;
  columns: readonly string[];
  rows: AsyncIterable<readonly unknown[]>;
}

/** One server-sent event; without a name it is a plain message. */
export interface EventMessage {
  id?: string;
  event?: string;
  /** JSON, on one line. */
  data: string;
}

/** Who is at the other end of an event stream. */
export interface EventReader {
  /** The id of the last event it saw before its connection was cut. */
  readonly lastEventId: string | null;
  readonly ended: boolean;
  /** A reader that takes too little of what it is sent is ended, with a last event that says so. */
  send(messages: readonly EventMessage[]): void;
  /** Settled when it has taken most of what it was sent, or is gone. */
  drained(): Promise<void>;
  /** Whether the caller would still be let in. */
  stillProved(): Promise<boolean>;
  end(): void;
  onGone(listener: () => void): void;
}

/** Events sent as they happen, until the reader goes or the source ends it. */
export interface EventStream {
  readonly kind: 'sse';
  /** Called once, also for a reader that is gone already. */
  feed(reader: EventReader): void;
}

export type Answer<O extends Operation> =
  | ResponseOf<O>
  | Refusal
  | (O['streams'] extends 'csv' ? CsvFile : never)
  | (O['streams'] extends 'sse' ? EventStream : never);

export type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O>>;

export type Handlers<Table extends Record<string, Operation>> = {
  [Name in keyof Table]: Handler<Table[Name]>;
};
