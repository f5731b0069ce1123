import type { HolderBeat } from '../store/leases.ts';

interface Watched {
  beat: string;
  sinceMs: number;
}

/**
 * Finds the holders of leases that are gone: those whose sign of life has not changed for a whole lease and a
 * little more, by our own steady clock and while we were in touch with the database all along. Whose clock says
 * what does not matter, and after an outage everybody first gets the chance to give a new sign.
 */
export class LeaseWatch {
  readonly #patienceMs: number;
  readonly #maxGapMs: number;
  #watched = new Map<string, Watched>();
  #lastLookMs = Number.NEGATIVE_INFINITY;

  constructor(options: { patienceMs: number; maxGapMs: number }) {
    this.#patienceMs = options.patienceMs;
    this.#maxGapMs = options.maxGapMs;
  }

  /** Takes what a look at the database showed, begun at this instant, and answers who has been silent too long. */
  look(holders: readonly HolderBeat[], nowMs: number): HolderBeat[] {
    if (nowMs - this.#lastLookMs > this.#maxGapMs) this.#watched.clear();
    this.#lastLookMs = nowMs;
    const earlier = this.#watched;
    this.#watched = new Map();
    return holders.filter(({ node_id, beat }) => {
      const seen = earlier.get(node_id);
      const watched = seen?.beat === beat ? seen : { beat, sinceMs: nowMs };
      this.#watched.set(node_id, watched);
      return nowMs - watched.sinceMs >= this.#patienceMs;
    });
  }
}
