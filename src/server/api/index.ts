import type { operations } from '../../contract/index.ts';
import { accountApi } from './account.ts';
import { apiKeysApi } from './api-keys.ts';
import { auditApi } from './audit.ts';
import { authApi } from './auth.ts';
import type { Handlers } from './handler.ts';
import { healthApi } from './health.ts';
import { ledgerApi } from './ledger.ts';
import { modelsApi } from './models.ts';
import type { ApiParts } from './parts.ts';
import { providerKeysApi } from './provider-keys.ts';
import { teamsApi } from './teams.ts';
import { usageApi } from './usage.ts';

/** One handler for each operation of the contract; the compiler says which is missing. */
export function apiHandlers(parts: ApiParts): Handlers<typeof operations> {
  return {
    ...healthApi(parts),
    ...authApi(parts),
    ...accountApi(parts),
    ...providerKeysApi(parts),
    ...teamsApi(parts),
    ...apiKeysApi(parts),
    ...auditApi(parts),
    ...modelsApi(parts),
    ...ledgerApi(parts),
    ...usageApi(parts),
  };
}
