import { accountOperations } from './account.ts';
import { alertsOperations } from './alerts.ts';
import { apiKeysOperations } from './api-keys.ts';
import { auditOperations } from './audit.ts';
import { authOperations } from './auth.ts';
import { budgetApprovalsOperations } from './budget-approvals.ts';
import { budgetsOperations } from './budgets.ts';
import { healthOperations } from './health.ts';
import { killSwitchesOperations } from './kill-switches.ts';
import { ledgerOperations } from './ledger.ts';
import { modelsOperations } from './models.ts';
import { operatorOperations } from './operator.ts';
import { operatorModelsOperations } from './operator-models.ts';
import { operatorTenantsOperations } from './operator-tenants.ts';
import { priceChangesOperations } from './price-changes.ts';
import { pricingCandidatesOperations } from './pricing-candidates.ts';
import { providerKeysOperations } from './provider-keys.ts';
import { publicOperations } from './public.ts';
import { reconciliationOperations } from './reconciliation.ts';
import { savingsOperations } from './savings.ts';
import { spendQuotasOperations } from './spend-quotas.ts';
import { streamOperations } from './stream.ts';
import { teamsOperations } from './teams.ts';
import { usageOperations } from './usage.ts';
import { webhooksOperations } from './webhooks.ts';

/** The whole API as one table. Server, client, CLI, dashboard, docs and tests all read this. */
export const operations = {
  ...healthOperations,
  ...authOperations,
  ...accountOperations,
  ...providerKeysOperations,
  ...teamsOperations,
  ...apiKeysOperations,
  ...budgetsOperations,
  ...budgetApprovalsOperations,
  ...spendQuotasOperations,
  ...killSwitchesOperations,
  ...alertsOperations,
  ...webhooksOperations,
  ...auditOperations,
  ...modelsOperations,
  ...priceChangesOperations,
  ...ledgerOperations,
  ...usageOperations,
  ...streamOperations,
  ...savingsOperations,
  ...reconciliationOperations,
  ...publicOperations,
  ...operatorOperations,
  ...operatorTenantsOperations,
  ...operatorModelsOperations,
  ...pricingCandidatesOperations,
};

export type OperationName = keyof typeof operations;
