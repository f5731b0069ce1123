import { LRUCache } from 'lru-cache';
import { outputTokensByHistory } from '../domain/admission.ts';

const MAX_MODELS = 10_000;
const ANSWERS_PER_MODEL = 256;
/** Sorting the history for every request would cost more than it is worth. */
const RECOUNT_AFTER = 32;

interface History {
  recent: number[];
  sinceCount: number;
  tokensAtMost: number;
}

/** How much each tenant's models answered lately, for requests that state no cap on their output. */
export class OutputHistory {
  readonly #histories = new LRUCache<string, History>({ max: MAX_MODELS });

  add(tenantId: string, model: string | null, outputTokens: number): void {
    const key = `${tenantId} ${model}`;
    const history = this.#histories.get(key) ?? {
      recent: [],
      sinceCount: 0,
      tokensAtMost: outputTokensByHistory([]),
    };
    if (history.recent.length >= ANSWERS_PER_MODEL) history.recent.shift();
    history.recent.push(outputTokens);
    history.sinceCount += 1;
    if (history.sinceCount >= RECOUNT_AFTER) {
      history.tokensAtMost = outputTokensByHistory(history.recent);
      history.sinceCount = 0;
    }
    this.#histories.set(key, history);
  }

  outputTokensAtMost(tenantId: string, model: string | null): number {
    return this.#histories.get(`${tenantId} ${model}`)?.tokensAtMost ?? outputTokensByHistory([]);
  }
}
