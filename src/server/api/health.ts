import { refuse } from '../../contract/errors.ts';
import type { healthOperations } from '../../contract/health.ts';
import { ping } from '../store/database.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

const PATIENCE_MS = 2_000;

export function healthApi(parts: ApiParts): Handlers<typeof healthOperations> {
  return {
    async getHealth() {
      const facts = { version: parts.version, timestamp: new Date(parts.nowMs()).toISOString() };
      const answered = await databaseAnswers(parts);
      if (answered) return { status: 'ok', db: 'ok', ...facts };
      return refuse('unavailable', 'The database does not answer; proxied calls go on.', {
        status: 'degraded',
        db: 'error',
        ...facts,
      });
    },
  };
}

/** A health check that hangs is as bad as one that fails, so the wait has an end. */
async function databaseAnswers(parts: ApiParts): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS);
  });
  const answer = parts.database
    .asSystem((db) => ping(db))
    .then(
      () => true,
      () => false,
    );
  const result = await Promise.race([answer, patience]);
  clearTimeout(timer);
  return result;
}
