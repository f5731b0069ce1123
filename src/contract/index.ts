import { accountOperations } from './account.ts';
import { apiKeysOperations } from './api-keys.ts';
import { auditOperations } from './audit.ts';
import { authOperations } from './auth.ts';
import { healthOperations } from './health.ts';
import { ledgerOperations } from './ledger.ts';
import { modelsOperations } from './models.ts';
import { providerKeysOperations } from './provider-keys.ts';
import { teamsOperations } from './teams.ts';
import { usageOperations } from './usage.ts';

/** The whole API as one table. Server, client, CLI, dashboard, docs and tests all read this. */
export const operations = {
  ...healthOperations,
  ...authOperations,
  ...accountOperations,
  ...providerKeysOperations,
  ...teamsOperations,
  ...apiKeysOperations,
  ...auditOperations,
  ...modelsOperations,
  ...ledgerOperations,
  ...usageOperations,
};

export type OperationName = keyof typeof operations;
