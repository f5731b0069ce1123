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

export interface Call<O extends Operation> {
  body: BodyOf<O>;
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

export type Answer<O extends Operation> =
  | ResponseOf<O>
  | Refusal
  | (O['streams'] extends 'csv' ? CsvFile : never);

export type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O>>;

export type Handlers<Table extends Record<string, Operation>> = {
  [Name in keyof Table]: Handler<Table[Name]>;
};
