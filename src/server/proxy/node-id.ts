import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { readIfPresent, writeFileDurably } from '../adapters/durable-file.ts';

/**
 * The name under which this run of the process holds leases, and the one its earlier run held them under. Every
 * run has its own: money that a killed run had leased stays apart until its journal has been carried over.
 */
export async function takeNodeId(
  directory: string,
): Promise<{ nodeId: string; earlierNodeId: string | null }> {
  const path = join(directory, 'node-id');
  const earlierNodeId = (await readIfPresent(path))?.trim() || null;
  const nodeId = uuidv7();
  await writeFileDurably(path, `${nodeId}\n`);
  return { nodeId, earlierNodeId };
}
