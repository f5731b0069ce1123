import { LRUCache } from 'lru-cache';

const WINDOW_MS = 60_000;
/** Past this many keys in one minute the least recent are forgotten: bounded memory beats a perfect count. */
const MAX_KEYS = 50_000;

export interface RateLimit {
  /** Counts one attempt; null when it may go, else the seconds to wait. */
  take(key: string, nowMs: number): number | null;
}

/** So many attempts per key and minute; zero turns the limit off. */
export function rateLimit(perMinute: number): RateLimit {
  const windows = new LRUCache<string, { startedAtMs: number; count: number }>({ max: MAX_KEYS });
  return {
    take(key, nowMs) {
      if (perMinute === 0) return null;
      const window = windows.get(key);
      if (!window || nowMs - window.startedAtMs >= WINDOW_MS) {
        windows.set(key, { startedAtMs: nowMs, count: 1 });
        return null;
      }
      if (window.count >= perMinute) return Math.ceil((window.startedAtMs + WINDOW_MS - nowMs) / 1000);
      window.count += 1;
      return null;
    },
  };
}
