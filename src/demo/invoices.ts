import { MICRODOLLARS_PER_USD } from '../contract/money.ts';
import type { Provider } from '../contract/providers.ts';
import { type Asking, granted } from './asking.ts';
import { WORKLOADS } from './company.ts';

/** Before the middle of a month the month before has more days on record, and its invoice is the one at hand. */
const MIDDLE_OF_MONTH = 15;
/** What the provider charged and the gateway did not see: a model somebody calls past it. */
const SHADOW = { model: 'o3', usd: 38.2 };
const DEARER = { model: 'gpt-5.5', factor: 1.042 };

interface Invoice {
  provider: Provider;
  fileName: string;
  csv: string;
}

/** Two providers' invoices of a month: one agrees with the ledger, one does not. */
export async function reconcileInvoices(
  asking: Asking,
  login: { apiUrl: string; token: string },
  nowMs: number,
): Promise<void> {
  const month = invoiceMonth(nowMs);
  const [first, last] = [`${month}-01`, lastDayOf(month)];
  const query = { from: first, to: last };
  const models = granted('spend by model', await asking.call('getUsageByModel', { query })).data;
  const spent = models.map((row) => ({
    model: row.model_id,
    usd: row.cost_microdollars / MICRODOLLARS_PER_USD,
  }));
  const ofProvider = (provider: Provider) => {
    const names = namesOf(provider);
    return spent.filter(({ model, usd }) => names.has(model) && usd > 0);
  };
  await upload(login, month, openAiExport(ofProvider('prov_a'), first));
  await upload(login, month, anthropicExport(ofProvider('prov_b'), first));
}

/** OpenAI's cost export: a line for the input and one for the output of each model. */
function openAiExport(spent: ReadonlyArray<{ model: string; usd: number }>, day: string): Invoice {
  const charged = spent.map(({ model, usd }) => ({
    model,
    usd: model === DEARER.model ? usd * DEARER.factor : usd,
  }));
  const rows = [...charged, SHADOW].flatMap(({ model, usd }) => [
    `${day}T00:00:00+00:00,${(usd * 0.4).toFixed(6)},usd,"${model}, input"`,
    `${day}T00:00:00+00:00,${(usd * 0.6).toFixed(6)},usd,"${model}, output"`,
  ]);
  const csv = ['start_time_iso,amount_value,amount_currency,line_item', ...rows, ''].join('\n');
  return { provider: 'prov_a', fileName: 'openai-costs.csv', csv };
}

function anthropicExport(spent: ReadonlyArray<{ model: string; usd: number }>, day: string): Invoice {
  const rows = spent.map(({ model, usd }) => `${day},${model},${usd.toFixed(6)}`);
  const csv = ['usage_date_utc,model,cost_usd', ...rows, ''].join('\n');
  return { provider: 'prov_b', fileName: 'anthropic-costs.csv', csv };
}

async function upload(
  { apiUrl, token }: { apiUrl: string; token: string },
  month: string,
  { provider, fileName, csv }: Invoice,
): Promise<void> {
  const form = new FormData();
  form.append('provider', provider);
  form.append('invoice_month', month);
  form.append('file', new Blob([csv], { type: 'text/csv' }), fileName);
  const response = await fetch(`${apiUrl}/v1/reconciliation/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`an invoice was refused: ${response.status} ${text}`);
}

/** Every name a provider's models go by in the records. */
function namesOf(provider: Provider): Set<string> {
  const models = WORKLOADS.flatMap((workload) => workload.models).filter((one) => one.provider === provider);
  return new Set(models.flatMap(({ model, served }) => (served ? [model, served] : [model])));
}

function invoiceMonth(nowMs: number): string {
  const now = new Date(nowMs);
  const back = now.getUTCDate() > MIDDLE_OF_MONTH ? 0 : 1;
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7);
}

function lastDayOf(month: string): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year!, number!, 0)).toISOString().slice(0, 10);
}
