import type { Provider } from '../../contract/providers.ts';
import type { PromptFingerprints } from './fingerprint.ts';
import type { Usage } from './usage.ts';

/** What is known of a proxied call when it is let through: written down before the provider hears of it. */
export interface AdmittedRequest extends PromptFingerprints {
  id: string;
  tenant_id: string;
  /** When it was admitted; the id carries the same instant. RFC 3339 with milliseconds. */
  created_at: string;
  provider: Provider;
  method: string;
  endpoint: string;
  model_requested: string | null;
  stream: boolean;
  api_key_id: string;
  environment: 'production' | 'test';
  team_id: string | null;
  /** The team as the ledger's path names it. */
  team_slug: string | null;
  service_name: string | null;
  agent: string | null;
  user_name: string | null;
  end_customer: string | null;
  tags: Record<string, string>;
  /** Harmless request headers kept for the detail view. */
  headers: Record<string, string>;
  /** The budgets it reserved from, each in the period it was admitted in, and whose lease the money came from. */
  reservations: Array<{ budget_id: string; period_start: string; holder_id: string }>;
  /** The most it could cost; zero when no budget could have stopped it. */
  reserved_microdollars: number;
  /** A coarse count of the tokens sent, for the one case where nothing better is ever known. */
  input_tokens_approximate: number;
}

/** What became of it. */
export interface RequestOutcome {
  /** The model that answered, else the one asked for. */
  model_id: string | null;
  model_family: string | null;
  status_code: number;
  /** Why we refused it ourselves; null when the answer is the provider's. */
  refusal: string | null;
  /** Only what may have reached a provider is in the ledger. */
  in_ledger: boolean;
  tokens_input: number;
  tokens_output: number;
  usage: Usage;
  usage_source: 'provider' | 'estimated' | 'none';
  cost_microdollars: number;
  cost_status: 'priced' | 'free' | 'unpriced';
  price_id: string | null;
  service_tier: string | null;
  /** Where it was served, when that bears on the price. */
  region: string | null;
  anomalies: string[];
  interrupted: boolean;
  latency_total_ms: number;
  latency_first_byte_ms: number | null;
}

/** One proxied call from end to end: the row of the request log and, if it reached a provider, of the ledger. */
export interface RequestRecord extends AdmittedRequest, RequestOutcome {}
