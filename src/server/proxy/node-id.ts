import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { readIfPresent, writeFileDurably } from '../adapters/durable-file.ts';

const NODE_IDS_FILE = 'node-ids';
/** Of runs that ended before their journal was carried over; leases of older ones have run out long ago. */
const MAX_EARLIER_IDS = 100;

/**
 * The id under which this run of the process holds leases, and those of the runs whose journal it carries over.
 * Every run has its own: money that a killed run had leased stays apart until what it wrote down is committed.
 */
export async function takeNodeId(directory: string): Promise<{ nodeId: string; earlierNodeIds: string[] }> {
  const path = join(directory, NODE_IDS_FILE);
  const text = (await readIfPresent(path)) ?? '';
  const earlierNodeIds = text.split('\n').filter(Boolean).slice(-MAX_EARLIER_IDS);
  const nodeId = uuidv7();
  await writeFileDurably(path, `${[...earlierNodeIds, nodeId].join('\n')}\n`);
  return { nodeId, earlierNodeIds };
}

/** Once nothing is left of the earlier runs. */
export async function keepOnlyNodeId(directory: string, nodeId: string): Promise<void> {
  await writeFileDurably(join(directory, NODE_IDS_FILE), `${nodeId}\n`);
}
