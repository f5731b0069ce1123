import { LRUCache } from 'lru-cache';
import type { Provider } from '../../contract/providers.ts';
import { outputTokensByHistory } from '../domain/admission.ts';
import type { AdmittedRequest, RequestOutcome } from '../domain/request-record.ts';

const MAX_MODELS = 10_000;
const ANSWERS_PER_MODEL = 256;
/** Sorting the history for every request would cost more than it is worth. */
const RECOUNT_AFTER = 32;

interface History {
  recent: number[];
  sinceCount: number;
  tokensAtMost: number;
}

/**
 * What each tenant's models answered lately: how much, for requests that state no cap on their output, and as
 * which model, for names that have no price of their own.
 */
export class OutputHistory {
  readonly #histories = new LRUCache<string, History>({ max: MAX_MODELS });
  readonly #servedModels = new LRUCache<string, string>({ max: MAX_MODELS });

  add(
    {
      tenant_id,
      provider,
      model_requested,
    }: Pick<AdmittedRequest, 'tenant_id' | 'provider' | 'model_requested'>,
    { model_id, tokens_output: outputTokens }: Pick<RequestOutcome, 'model_id' | 'tokens_output'>,
  ): void {
    if (model_id !== null && model_id !== model_requested)
      this.#servedModels.set(`${provider} ${model_requested}`, model_id);
    const key = `${tenant_id} ${model_requested}`;
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

  /** The model that answered to this name last; null when it was itself, or nobody has asked for it yet. */
  servedModel(provider: Provider, modelRequested: string | null): string | null {
    return this.#servedModels.get(`${provider} ${modelRequested}`) ?? null;
  }

  outputTokensAtMost(tenantId: string, model: string | null): number {
    return this.#histories.get(`${tenantId} ${model}`)?.tokensAtMost ?? outputTokensByHistory([]);
  }
}
