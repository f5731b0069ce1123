import { createHmac, hash, type KeyObject } from 'node:crypto';
import { openKeyedHash } from './keyed-hash.ts';

/**
 * The hash chain of one tenant. A record's hash covers its own fields and the hash before it, in a canonical
 * encoding anyone can rebuild: RFC 8785 JSON of the fields in `HASHED_FIELDS` plus `v`, with every integer as
 * a decimal string. The tenant is one of the fields, so that a whole chain, or its first record, moved to
 * another tenant is found. The chain needs no secret; the HMAC over the hash is what a rewriter of the whole
 * chain cannot make.
 */
const LEDGER_ENCODING_VERSION = '1';
export const GENESIS_HASH = '0'.repeat(64);

export type LedgerKind = 'request' | 'correction';

/** What a record says, before it has a place in the chain. */
export interface LedgerDraft {
  id: string;
  kind: LedgerKind;
  request_id: string;
  provider: string;
  model_id: string;
  tokens_input: number;
  tokens_output: number;
  /** The change in cost; negative only in a correction. */
  cost_microdollars: number;
  hierarchy_path: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ`: milliseconds, as `Date.prototype.toISOString` writes them. */
  created_at: string;
}

export interface LedgerRecord extends LedgerDraft {
  tenant_id: string;
  sequence_number: number;
  previous_hash: string;
  record_hash: string;
  hmac_signature: string;
}

/** The last record of a chain; a new tenant's is `emptyChain(tenant)`. */
export interface ChainHead {
  tenant_id: string;
  sequence_number: number;
  record_hash: string;
}

type HashedField = keyof Omit<LedgerRecord, 'record_hash' | 'hmac_signature'>;
type HashedRecord = Pick<LedgerRecord, HashedField>;

/** In the order RFC 8785 asks for: by UTF-16 code units. `v` sorts after all of them. */
const HASHED_FIELDS: readonly HashedField[] = [
  'cost_microdollars',
  'created_at',
  'hierarchy_path',
  'id',
  'kind',
  'model_id',
  'previous_hash',
  'provider',
  'request_id',
  'sequence_number',
  'tenant_id',
  'tokens_input',
  'tokens_output',
];
/** The columns of the CSV export: enough to verify a chain with nothing else at hand. */
export const LEDGER_CSV_COLUMNS = [
  'id',
  'sequence_number',
  'kind',
  'request_id',
  'cost_microdollars',
  'cost_usd',
  'provider',
  'model_id',
  'tokens_input',
  'tokens_output',
  'hierarchy_path',
  'record_hash',
  'created_at',
  'previous_hash',
  'hmac_signature',
  'tenant_id',
] as const;

const CREATED_AT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function emptyChain(tenantId: string): ChainHead {
  return { tenant_id: tenantId, sequence_number: 0, record_hash: GENESIS_HASH };
}

/** Throws on a value that has no canonical form: such a record must not enter the ledger. */
export function canonicalRecord(record: HashedRecord): string {
  let text = '';
  for (const [name, member] of MEMBERS) text += member + encodeValue(name, record[name]);
  return `${text}${END_MEMBERS}`;
}
/** How each field's member begins; written out once, because every request of a busy gateway is chained. */
const MEMBERS = HASHED_FIELDS.map((name, place) => [name, `${place === 0 ? '{' : ','}"${name}":`] as const);
const END_MEMBERS = `,"v":"${LEDGER_ENCODING_VERSION}"}`;

export function recordHash(record: HashedRecord): string {
  return hash('sha256', canonicalRecord(record), 'hex');
}

/** HMAC-SHA-256 over the 64 hex characters of the record hash. */
export function signHash(recordHash: string, secret: string | Buffer | KeyObject): string {
  return createHmac('sha256', secret).update(recordHash, 'latin1').digest('hex');
}

/**
 * Gives the drafts their places after the head. The texts come back as PostgreSQL can store them (no NUL, no
 * lone surrogate), because a record must be hashed exactly as it will be read again.
 */
export function chainRecords(
  head: ChainHead,
  drafts: readonly LedgerDraft[],
  secret: string | Buffer | KeyObject,
): { records: LedgerRecord[]; head: ChainHead } {
  const sign = openKeyedHash(secret);
  const records: LedgerRecord[] = [];
  let { sequence_number, record_hash } = head;
  for (const draft of drafts) {
    sequence_number += 1;
    // Field by field: copies by spreading cost more than the hash.
    const record: LedgerRecord = {
      tenant_id: head.tenant_id,
      sequence_number,
      id: draft.id,
      kind: draft.kind,
      request_id: draft.request_id,
      provider: storableText(draft.provider),
      model_id: storableText(draft.model_id),
      tokens_input: draft.tokens_input,
      tokens_output: draft.tokens_output,
      cost_microdollars: draft.cost_microdollars,
      hierarchy_path: storableText(draft.hierarchy_path),
      created_at: draft.created_at,
      previous_hash: record_hash,
      record_hash: '',
      hmac_signature: '',
    };
    record_hash = recordHash(record);
    record.record_hash = record_hash;
    record.hmac_signature = sign(record_hash);
    records.push(record);
  }
  return { records, head: { tenant_id: head.tenant_id, sequence_number, record_hash } };
}

/**
 * `/team/service`, with `-` for none. Slashes within a name are percent-encoded, so the path always has two
 * parts; `%` and a name that is only a hyphen are too, so that it can be read back.
 */
export function hierarchyPath(team: string | null, service: string | null): string {
  return `/${pathPart(team)}/${pathPart(service)}`;
}

function pathPart(name: string | null): string {
  if (name === null || name === '') return '-';
  if (name === '-') return '%2D';
  return name.replaceAll('%', '%25').replaceAll('/', '%2F');
}

function storableText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

function encodeValue(name: HashedField, value: string | number): string {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new RangeError(`ledger field ${name} is not a safe integer`);
    return `"${value === 0 ? 0 : value}"`;
  }
  if (typeof value !== 'string') throw new TypeError(`ledger field ${name} is missing`);
  if (name === 'created_at' && !CREATED_AT.test(value)) {
    throw new RangeError('ledger field created_at is not a UTC time with milliseconds');
  }
  // RFC 8785 escapes strings exactly as ECMAScript does; only lone surrogates have no form in it.
  return JSON.stringify(value.toWellFormed());
}

/**
 * Signs where a chain ends. Kept beside the records, it is what a truncated tail gives itself away by: nobody
 * without the secret can sign a shorter chain.
 */
export function signHead(head: ChainHead, secret: string | Buffer | KeyObject): string {
  return createHmac('sha256', secret)
    .update(`head ${head.tenant_id} ${head.sequence_number} ${head.record_hash}`, 'latin1')
    .digest('hex');
}
