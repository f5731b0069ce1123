/** Chance that can be repeated: the same seed tells the same story. */
export interface Chance {
  /** 0 inclusive to 1 exclusive. */
  next(): number;
  /** Whole, both ends included. */
  between(low: number, high: number): number;
  happens(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** By the weight each has; they need not add up to one. */
  weighted<T extends { share: number }>(list: readonly T[]): T;
  /** Whole and positive, around a median, with a long tail as sizes have it. */
  around(median: number, spread: number): number;
  hex(bytes: number): string;
}

export function makeChance(seed: number): Chance {
  let state = seed >>> 0;
  // mulberry32: small, fast, and good enough for a story.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const bell = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    happens: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)]!,
    weighted: (list) => {
      let left = next() * list.reduce((sum, { share }) => sum + share, 0);
      for (const entry of list) {
        left -= entry.share;
        if (left < 0) return entry;
      }
      return list.at(-1)!;
    },
    around: (median, spread) => Math.max(1, Math.round(median * Math.exp(bell() * spread))),
    hex: (bytes) =>
      Array.from({ length: bytes }, () =>
        Math.floor(next() * 256)
          .toString(16)
          .padStart(2, '0'),
      ).join(''),
  };
}
