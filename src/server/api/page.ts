import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../contract/operation.ts';

/** The page asked for: a limit above the maximum is brought down to it. */
export function pageOf(query: { limit?: number; offset?: number }): { limit: number; offset: number } {
  return { limit: Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT), offset: query.offset ?? 0 };
}
