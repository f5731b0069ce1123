import type { Logger } from '../adapters/log.ts';
import { type ControlConnection, openControlConnection } from '../store/control-changes.ts';
import type { Recall } from '../store/leases.ts';
import { within } from './patience.ts';
import type { Snapshots } from './snapshot.ts';

/** A change must be in force everywhere within a second, also when this connection died without a word. */
const LOOK_EVERY_MS = 250;
/** A connection that takes longer to answer is taken for dead; a store that is only slow is given more. */
const MIN_PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 5_000;
const RECONNECT_AFTER_MS = 200;
const WINDOW_SECONDS = 5;
const MAX_REMEMBERED = 10_000;

/**
 * Hears what changed in the control state and has it read again. NOTIFY makes it immediate; looking every
 * moment on the same connection makes it certain, and finds out a connection that only seems to be open. After
 * any gap longer than the window everything is read again.
 */
export class ControlListener {
  readonly #url: string;
  readonly #snapshots: Snapshots;
  readonly #onRecall: (recall: Recall) => void;
  readonly #log: Logger;
  readonly #seen = new Set<number>();
  #connection: ControlConnection | null = null;
  #lastLookMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;
  #dueMs = 0;
  #failedBefore = false;
  #patienceMs = MIN_PATIENCE_MS;
  #looking: Promise<void> = Promise.resolve();

  constructor(parts: { url: string; snapshots: Snapshots; onRecall: (recall: Recall) => void; log: Logger }) {
    this.#url = parts.url;
    this.#onRecall = parts.onRecall;
    this.#snapshots = parts.snapshots;
    this.#log = parts.log;
  }

  start(): void {
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#looking;
    this.#connection?.drop();
  }

  #schedule(afterMs: number): void {
    const dueMs = performance.now() + afterMs;
    // What was announced while a look was under way is not put off to the next ordinary one.
    if (this.#stopped || (this.#timer && this.#dueMs <= dueMs)) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#looking = this.#looking.then(() => this.#look());
    }, afterMs);
  }

  async #look(): Promise<void> {
    try {
      this.#connection ??= await openControlConnection({
        url: this.#url,
        patienceMs: MAX_PATIENCE_MS,
        onAnnouncement: () => this.#schedule(0),
        onRecall: this.#onRecall,
      });
      await this.#readChanges(this.#connection);
      this.#failedBefore = false;
      this.#schedule(LOOK_EVERY_MS);
    } catch (error) {
      this.#log.debug({ err: error }, 'the control listener lost its connection');
      // The first time at once, because the second is running; then no faster than the store can bear.
      const waitMs = this.#failedBefore ? RECONNECT_AFTER_MS : 0;
      this.#failedBefore = true;
      this.#patienceMs = Math.min(2 * this.#patienceMs, MAX_PATIENCE_MS);
      this.#connection?.drop();
      this.#connection = null;
      this.#schedule(waitMs);
    }
  }

  async #readChanges(connection: ControlConnection): Promise<void> {
    const startedMs = performance.now();
    const rows = await within(
      connection.listRecentChanges(WINDOW_SECONDS),
      this.#patienceMs,
      'the control connection',
    );
    if (performance.now() - startedMs < MIN_PATIENCE_MS / 2) this.#patienceMs = MIN_PATIENCE_MS;
    const missed = startedMs - this.#lastLookMs > (WINDOW_SECONDS - 1) * 1000;
    const fresh = rows.filter((row) => !this.#seen.has(row.id));
    if (missed) await this.#snapshots.refreshAll();
    else for (const subject of new Set(fresh.map((row) => row.subject))) await this.#apply(subject);
    // Only what was applied counts as seen: a failure above makes the next look try again.
    if (this.#seen.size > MAX_REMEMBERED) this.#seen.clear();
    for (const row of fresh) this.#seen.add(row.id);
    this.#lastLookMs = startedMs;
  }

  async #apply(subject: string): Promise<void> {
    if (subject === 'prices') await this.#snapshots.refreshPrices();
    else if (subject.startsWith('tenant:'))
      await this.#snapshots.refreshTenant(subject.slice('tenant:'.length));
  }
}
