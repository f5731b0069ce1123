import type { operations } from '../../contract/index.ts';
import { accountApi } from './account.ts';
import { alertsApi } from './alerts.ts';
import { apiKeysApi } from './api-keys.ts';
import { auditApi } from './audit.ts';
import { authApi } from './auth.ts';
import { budgetApprovalsApi } from './budget-approvals.ts';
import { budgetsApi } from './budgets.ts';
import type { Handlers } from './handler.ts';
import { healthApi } from './health.ts';
import { killSwitchesApi } from './kill-switches.ts';
import { ledgerApi } from './ledger.ts';
import { modelsApi } from './models.ts';
import { operatorApi } from './operator.ts';
import { operatorModelsApi } from './operator-models.ts';
import { operatorTenantsApi } from './operator-tenants.ts';
import type { ApiParts } from './parts.ts';
import { priceChangesApi } from './price-changes.ts';
import { pricingCandidatesApi } from './pricing-candidates.ts';
import { providerKeysApi } from './provider-keys.ts';
import { publicApi } from './public.ts';
import { reconciliationApi } from './reconciliation.ts';
import { savingsApi } from './savings.ts';
import { spendQuotasApi } from './spend-quotas.ts';
import { streamApi } from './stream.ts';
import { teamsApi } from './teams.ts';
import { usageApi } from './usage.ts';
import { webhooksApi } from './webhooks.ts';

/** One handler for each operation of the contract; the compiler says which is missing. */
export function apiHandlers(parts: ApiParts): Handlers<typeof operations> {
  return {
    ...healthApi(parts),
    ...authApi(parts),
    ...accountApi(parts),
    ...providerKeysApi(parts),
    ...teamsApi(parts),
    ...apiKeysApi(parts),
    ...budgetsApi(parts),
    ...budgetApprovalsApi(parts),
    ...spendQuotasApi(parts),
    ...killSwitchesApi(parts),
    ...alertsApi(parts),
    ...webhooksApi(parts),
    ...auditApi(parts),
    ...modelsApi(parts),
    ...priceChangesApi(parts),
    ...ledgerApi(parts),
    ...usageApi(parts),
    ...streamApi(parts),
    ...savingsApi(parts),
    ...reconciliationApi(parts),
    ...publicApi(parts),
    ...operatorApi(parts),
    ...operatorTenantsApi(parts),
    ...operatorModelsApi(parts),
    ...pricingCandidatesApi(parts),
  };
}
