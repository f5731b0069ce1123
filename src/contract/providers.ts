/** The four upstreams by their neutral identifiers, and the names people use for them in a path. */
export const PROVIDERS = ['prov_a', 'prov_b', 'prov_c', 'prov_d'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** Whose invoices are compared with the ledger. The fourth stands for many services, each with bills of its own. */
export const INVOICED_PROVIDERS = ['prov_a', 'prov_b', 'prov_c'] as const satisfies readonly Provider[];
export type InvoicedProvider = (typeof INVOICED_PROVIDERS)[number];

export const PROVIDER_LABELS: Record<Provider, string> = {
  prov_a: 'OpenAI',
  prov_b: 'Anthropic',
  prov_c: 'Gemini',
  prov_d: 'DeepSeek / OpenAI-compatible',
};

export const PROVIDER_PATH_NAMES: Readonly<Record<string, Provider>> = {
  prov_a: 'prov_a',
  prov_b: 'prov_b',
  prov_c: 'prov_c',
  prov_d: 'prov_d',
  openai: 'prov_a',
  anthropic: 'prov_b',
  gemini: 'prov_c',
  deepseek: 'prov_d',
};
