import { createReadStream, statSync } from 'node:fs';
import { parse } from 'csv-parse';
import { type ChainVerdict, ledgerRecordFromCsv, verifyChain } from '../ledger/verifier.ts';
import { Interrupted, Stop } from './exit.ts';
import type { Host } from './host.ts';
import { startProgress } from './progress.ts';

/** No cell of an export comes near this; a file that is something else must not fill the memory. */
const MAX_ROW_CHARACTERS = 1_000_000;

const CHAIN_COLUMNS = ['sequence_number', 'previous_hash', 'record_hash'];

/** Checks an exported chain in constant memory, with nothing but the file. */
export async function verifyLedgerFile(host: Host, file: string): Promise<ChainVerdict> {
  const stats = statSync(file);
  if (stats.isDirectory()) {
    throw new Stop('not_a_file', `${file} is a directory, not a ledger export.`, `ls ${file}`);
  }
  const totalBytes = stats.size;
  const progress = startProgress(host, 'verifying');
  const source = createReadStream(file);
  const rows = source.pipe(parse({ columns: true, bom: true, max_record_size: MAX_ROW_CHARACTERS }));
  source.on('error', (error) => rows.destroy(error));
  const chain = verifyChain();
  let rowNumber = 0;
  try {
    for await (const cells of rows) {
      if (host.signal.aborted) throw new Interrupted();
      rowNumber += 1;
      // Another table is no broken ledger, and must not be reported as one.
      if (rowNumber === 1 && !CHAIN_COLUMNS.every((column) => Object.hasOwn(cells, column)))
        throw notALedger(file);
      const record = ledgerRecordFromCsv(cells, rowNumber);
      if ('reason' in record) chain.fail(record);
      else chain.push(record);
      if (!chain.verdict().valid) break;
      progress.update(source.bytesRead, totalBytes);
    }
  } catch (error) {
    if ((error as { code?: unknown }).code?.toString().startsWith('CSV_')) throw notALedger(file);
    throw error;
  } finally {
    progress.end();
    source.destroy();
  }
  // A file without even a header proves nothing.
  if (rowNumber === 0 && totalBytes === 0) throw notALedger(file);
  return chain.verdict();
}

function notALedger(file: string): Stop {
  return new Stop('invalid_file', `${file} is not a ledger export.`, `gw ledger export -o ${file}`);
}
