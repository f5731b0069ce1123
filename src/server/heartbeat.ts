import { v7 as uuidv7 } from 'uuid';
import type { Logger } from './adapters/log.ts';
import type { NodeStatus } from './api/parts.ts';
import type { Database } from './store/database.ts';
import { type KnownNode, removeNode, reportNode } from './store/nodes.ts';

const EVERY_MS = 5_000;

type Described = Pick<NodeStatus, 'pools' | 'requestsInFlight' | 'journal' | 'ingest'>;

/** Tells the other nodes that this process runs, and knows what they said. */
export class Heartbeat {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #role: string;
  readonly #nodeId = uuidv7();
  readonly #startedAtMs: number;
  #describe: () => Described = () => ({ pools: {}, requestsInFlight: null, journal: null, ingest: null });
  #nodes: KnownNode[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: { database: Database; role: string; nowMs: () => number; log: Logger }) {
    this.#database = parts.database;
    this.#role = parts.role;
    this.#startedAtMs = parts.nowMs();
    this.#log = parts.log;
  }

  describe(source: () => Described): void {
    this.#describe = source;
  }

  start(): void {
    void this.#beat();
    this.#timer = setInterval(() => void this.#beat(), EVERY_MS);
  }

  async stop(): Promise<void> {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    await this.#database.asSystem((db) => removeNode(db, this.#nodeId)).catch(() => {});
  }

  status(): NodeStatus {
    return {
      nodeId: this.#nodeId,
      role: this.#role,
      startedAtMs: this.#startedAtMs,
      ...this.#describe(),
      nodes: this.#nodes.map(({ node_id, role, last_seen_at_ms }) => ({
        nodeId: node_id,
        role,
        lastSeenAtMs: last_seen_at_ms,
      })),
    };
  }

  async #beat(): Promise<void> {
    const node = { nodeId: this.#nodeId, role: this.#role, startedAt: new Date(this.#startedAtMs) };
    try {
      this.#nodes = await this.#database.asSystem((db) => reportNode(db, node));
    } catch (error) {
      this.#log.debug({ err: error }, 'the heartbeat found no database');
    }
  }
}
