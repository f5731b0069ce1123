import { formatUsd } from '../contract/money.ts';
import {
  type ChainHead,
  GENESIS_HASH,
  LEDGER_CSV_COLUMNS,
  type LedgerKind,
  type LedgerRecord,
  recordHash,
  signHash,
} from './chain.ts';

/** The first place where a chain does not hold. */
export interface ChainFailure {
  sequence_number: number;
  reason: string;
}

export interface ChainVerdict {
  valid: boolean;
  records_checked: number;
  first_seq: number | null;
  last_seq: number | null;
  first_invalid_sequence?: number;
  reason?: string;
}

export interface ChainVerifierOptions {
  /** Where the range must begin; without it the first record seen is believed to be the beginning. */
  fromSequence?: number;
  /** The hash before the range, when it is known; before sequence number 1 it always is. */
  previousHash?: string;
  /** Whose chain it must be; without it, whose the first record says. */
  tenantId?: string;
  /** With the deployment's secret the signatures are checked too. */
  secret?: string | Buffer;
}

export interface ChainVerifier {
  /** Records in ascending order; null as long as the chain holds. After a failure nothing more is checked. */
  push(record: LedgerRecord): ChainFailure | null;
  /** For a row that could not even be read. */
  fail(failure: ChainFailure): void;
  /**
   * Compares the end of what was pushed with the head kept apart from the records: the only way to see that
   * the newest records are gone.
   */
  checkHead(head: ChainHead): ChainFailure | null;
  verdict(): ChainVerdict;
}

/** Checks a chain record by record in constant memory, without the code that wrote it beyond the hash. */
export function verifyChain(options: ChainVerifierOptions = {}): ChainVerifier {
  let failure: ChainFailure | null = null;
  let checked = 0;
  let firstSequence: number | null = null;
  let last: ChainHead | null = null;

  function push(record: LedgerRecord): ChainFailure | null {
    if (failure !== null) return failure;
    const expected: Expected = {
      sequence: last === null ? options.fromSequence : last.sequence_number + 1,
      previousHash: last === null ? options.previousHash : last.record_hash,
      tenantId: last === null ? options.tenantId : last.tenant_id,
    };
    failure = placeFailure(record, expected) ?? contentFailure(record, options.secret);
    if (failure !== null) return failure;
    checked += 1;
    firstSequence ??= record.sequence_number;
    last = {
      tenant_id: record.tenant_id,
      sequence_number: record.sequence_number,
      record_hash: record.record_hash,
    };
    return null;
  }

  return {
    push,
    fail(found) {
      failure ??= found;
    },
    checkHead(head) {
      failure ??= headFailure(last, options.fromSequence ?? 1, head);
      return failure;
    },
    verdict() {
      return {
        valid: failure === null,
        records_checked: checked,
        first_seq: firstSequence,
        last_seq: last?.sequence_number ?? null,
        ...(failure && { first_invalid_sequence: failure.sequence_number, reason: failure.reason }),
      };
    },
  };
}

interface Expected {
  sequence: number | undefined;
  previousHash: string | undefined;
  tenantId: string | undefined;
}

/** Does the record stand where it belongs? */
function placeFailure(record: LedgerRecord, expected: Expected): ChainFailure | null {
  const { sequence_number: sequence } = record;
  if (expected.sequence !== undefined && sequence > expected.sequence) {
    return {
      sequence_number: expected.sequence,
      reason: `record ${expected.sequence} is missing or out of order: record ${sequence} stands in its place`,
    };
  }
  if (expected.sequence !== undefined && sequence < expected.sequence) {
    return { sequence_number: sequence, reason: `record ${sequence} is repeated or out of order` };
  }
  if (!Number.isSafeInteger(sequence) || sequence < 1) {
    return {
      sequence_number: expected.sequence ?? 1,
      reason: 'the sequence number is not a positive whole number',
    };
  }
  if (expected.tenantId !== undefined && record.tenant_id !== expected.tenantId) {
    return { sequence_number: sequence, reason: `record ${sequence} belongs to another tenant` };
  }
  const previous = sequence === 1 ? GENESIS_HASH : expected.previousHash;
  if (previous !== undefined && record.previous_hash !== previous) {
    return {
      sequence_number: sequence,
      reason: `previous_hash of record ${sequence} is not the hash of the record before it`,
    };
  }
  return null;
}

/** Does the record say what its hash says it says? */
function contentFailure(record: LedgerRecord, secret: string | Buffer | undefined): ChainFailure | null {
  const { sequence_number: sequence } = record;
  let hash: string;
  try {
    hash = recordHash(record);
  } catch (fault) {
    const problem = fault instanceof Error ? fault.message : String(fault);
    return { sequence_number: sequence, reason: `record ${sequence} cannot be encoded: ${problem}` };
  }
  if (hash !== record.record_hash) {
    return {
      sequence_number: sequence,
      reason: `record ${sequence} was changed: its fields do not match its hash`,
    };
  }
  if (secret !== undefined && signHash(hash, secret) !== record.hmac_signature) {
    return {
      sequence_number: sequence,
      reason: `hmac_signature of record ${sequence} was not made with this deployment's secret`,
    };
  }
  return null;
}

function headFailure(last: ChainHead | null, fromSequence: number, head: ChainHead): ChainFailure | null {
  const lastSequence = last === null ? fromSequence - 1 : last.sequence_number;
  if (lastSequence < head.sequence_number) {
    return {
      sequence_number: lastSequence + 1,
      reason: `the chain ends at record ${lastSequence}, but its head is record ${head.sequence_number}`,
    };
  }
  if (lastSequence > head.sequence_number) {
    return {
      sequence_number: head.sequence_number + 1,
      reason: `record ${lastSequence} stands after the head of the chain, record ${head.sequence_number}`,
    };
  }
  if (last !== null && (last.record_hash !== head.record_hash || last.tenant_id !== head.tenant_id)) {
    return {
      sequence_number: lastSequence,
      reason: `record ${lastSequence} is not the record the head of the chain names`,
    };
  }
  return null;
}

const WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,15})$/;
const HEX_256 = /^[0-9a-f]{64}$/;
/** The export protects a text cell that a spreadsheet would run as a formula by a quote in front. */
const PROTECTED_CELL = /^'[=+\-@\t\r]/;
const KINDS: readonly string[] = ['request', 'correction'] satisfies LedgerKind[];

/**
 * One row of the CSV export, cells by column name, back into the record it was made from; or what is wrong
 * with it. `rowNumber` stands in for a sequence number that cannot be read.
 */
export function ledgerRecordFromCsv(
  cells: Readonly<Record<string, string>>,
  rowNumber: number,
): LedgerRecord | ChainFailure {
  const sequence = wholeNumber(cells.sequence_number);
  const reject = (problem: string): ChainFailure => ({
    sequence_number: sequence ?? rowNumber,
    reason: problem,
  });
  for (const column of LEDGER_CSV_COLUMNS) {
    if (cells[column] === undefined) return reject(`the column ${column} is missing`);
  }
  const tokensInput = wholeNumber(cells.tokens_input);
  const tokensOutput = wholeNumber(cells.tokens_output);
  const cost = wholeNumber(withoutProtection(cells.cost_microdollars!));
  if (sequence === null) return reject('sequence_number is not a whole number');
  if (tokensInput === null) return reject('tokens_input is not a whole number');
  if (tokensOutput === null) return reject('tokens_output is not a whole number');
  if (cost === null) return reject('cost_microdollars is not a whole number');
  // Not hashed, because it only repeats cost_microdollars; a reader must be able to trust it all the same.
  if (withoutProtection(cells.cost_usd!) !== formatUsd(cost))
    return reject('cost_usd is not cost_microdollars');
  if (!KINDS.includes(cells.kind!)) return reject('kind is neither request nor correction');
  if (!HEX_256.test(cells.hmac_signature!)) return reject('hmac_signature is not 64 hex characters');
  const record: LedgerRecord = {
    id: cells.id!,
    sequence_number: sequence,
    kind: cells.kind as LedgerKind,
    request_id: cells.request_id!,
    cost_microdollars: cost,
    provider: cells.provider!,
    model_id: cells.model_id!,
    tokens_input: tokensInput,
    tokens_output: tokensOutput,
    hierarchy_path: cells.hierarchy_path!,
    record_hash: cells.record_hash!,
    created_at: cells.created_at!,
    previous_hash: cells.previous_hash!,
    hmac_signature: cells.hmac_signature!,
    tenant_id: cells.tenant_id!,
  };
  return withOriginalModelId(record);
}

/** A model id may itself begin with `'=`: which reading is the original, the hash decides. */
function withOriginalModelId(record: LedgerRecord): LedgerRecord {
  if (!PROTECTED_CELL.test(record.model_id) || contentFailure(record, undefined) === null) return record;
  return { ...record, model_id: withoutProtection(record.model_id) };
}

function withoutProtection(cell: string): string {
  return PROTECTED_CELL.test(cell) ? cell.slice(1) : cell;
}

function wholeNumber(cell: string | undefined): number | null {
  if (cell === undefined || !WHOLE_NUMBER.test(cell)) return null;
  const value = Number(cell);
  return Number.isSafeInteger(value) ? value : null;
}
