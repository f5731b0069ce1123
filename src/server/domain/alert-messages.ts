import { formatUsd } from '../../contract/money.ts';
import { PROVIDER_LABELS, PROVIDERS } from '../../contract/providers.ts';

/** Chat tools cut or refuse longer ones. */
const MAX_TITLE_CHARACTERS = 150;
const MAX_VALUE_CHARACTERS = 200;
const MAX_FACTS = 10;

export type AlertSeverity = 'info' | 'warning' | 'critical';

/** What people are told about an alert, before it becomes a mail or a chat message. */
export interface AlertMessage {
  title: string;
  severity: AlertSeverity;
  occurredAtMs: number;
  facts: ReadonlyArray<{ label: string; value: string }>;
  link: string;
  /** Said below the facts, when there is something more to say. */
  note: string | null;
}

/** Parts of an alert that are not news to its reader: the title says them, or programs need them. */
const SILENT =
  /^(id|title|severity|alert_type|acknowledged|acknowledged_at|created_at|metadata|change|(scope|dimension)_(type|value)|agent_name|score|history_days|deviation_microdollars)$|(?<!^model)_ids?$|_hash$/;

/** What is looked for first, in this order. The database keeps the parts of an alert in none of ours. */
const FIRST = [
  'spend_microdollars',
  'limit_microdollars',
  'threshold',
  'median_microdollars',
  'threshold_microdollars',
  'used_requests',
  'included_requests',
  'estimated_monthly_effect_microdollars',
  'provider',
  'model_id',
  'model_requested',
  'previous_model',
  'new_model',
  'reason',
];

/** Where the name in the API is not the word people use. */
const LABELS: Readonly<Record<string, string>> = {
  median_microdollars: 'Usual',
  threshold_microdollars: 'Unusual from',
  model_id: 'Model',
  model_requested: 'Model asked for',
  hour_start: 'Hour',
};

/** From an alert, or from any other event of the `alert.` family, by whatever it says of itself. */
export function alertMessage(
  event: { type: string; data: Record<string, unknown>; createdAtMs: number },
  dashboardUrl: string,
): AlertMessage {
  const { data } = event;
  const isKill = event.type === 'alert.kill_switch';
  const metadata = isRecord(data.metadata) ? data.metadata : data;
  return {
    title: cut(plain(typeof data.title === 'string' ? data.title : titleOf(event)), MAX_TITLE_CHARACTERS),
    severity: isSeverity(data.severity) ? data.severity : isKill ? 'critical' : 'warning',
    occurredAtMs: event.createdAtMs,
    facts: factsOf(metadata),
    link: `${dashboardUrl}${isKill ? '/kill-switches' : '/alerts'}`,
    note: null,
  };
}

export function testMessage(dashboardUrl: string, nowMs: number): AlertMessage {
  return {
    title: 'Test alert from Gateway',
    severity: 'info',
    occurredAtMs: nowMs,
    facts: [{ label: 'Result', value: 'Alerts of your account arrive here.' }],
    link: `${dashboardUrl}/alerts`,
    note: 'Nothing happened: someone asked for this message to see whether alerts arrive.',
  };
}

function titleOf({ type, data }: { type: string; data: Record<string, unknown> }): string {
  if (type !== 'alert.kill_switch') return labelOf(type.replace('alert.', ''));
  const scope = data.scope_type === 'all' ? 'all traffic' : `${data.scope_type} ${data.scope_value}`;
  return `Kill switch on: ${scope}`;
}

function factsOf(metadata: Record<string, unknown>): AlertMessage['facts'] {
  const rank = (key: string) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
  const entries = Object.entries(metadata).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const facts = entries.flatMap(([key, value]) => {
    if (SILENT.test(key) || (key.endsWith('_usd') && hasMicrodollars(metadata, key))) return [];
    const text = valueText(key, value);
    if (text === null) return [];
    const label = LABELS[key] ?? labelOf(key.replace(/_microdollars$|_usd$/, ''));
    return [{ label, value: cut(text, MAX_VALUE_CHARACTERS) }];
  });
  return facts.slice(0, MAX_FACTS);
}

function hasMicrodollars(metadata: Record<string, unknown>, usdKey: string): boolean {
  return `${usdKey.slice(0, -'usd'.length)}microdollars` in metadata;
}

function valueText(key: string, value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') {
    if (key.endsWith('_microdollars') && Number.isSafeInteger(value)) return dollars(formatUsd(value));
    if (/^(threshold|utilization)$/.test(key)) return `${Math.round(value * 1000) / 10} %`;
    return String(value);
  }
  if (typeof value !== 'string' || value.trim() === '') return null;
  if (key === 'provider') return providerText(value);
  if (/_(at|since|until|start|end)$/.test(key) && !Number.isNaN(Date.parse(value)))
    return instant(Date.parse(value));
  return key.endsWith('_usd') && /^-?\d+(\.\d+)?$/.test(value) ? dollars(value) : plain(value);
}

function providerText(value: string): string {
  const provider = PROVIDERS.find((known) => known === value);
  return provider ? `${PROVIDER_LABELS[provider]} (${provider})` : plain(value);
}

/** Cents at least, and no zeros beyond them. */
function dollars(usd: string): string {
  const [whole = '0', fraction = ''] = usd.replace(/^-/, '').split('.');
  return `${usd.startsWith('-') ? '-' : ''}$${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}

export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function labelOf(key: string): string {
  const words = key.replaceAll('_', ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** One line: names in it come from traffic, and a line break would fake a fact. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSeverity(value: unknown): value is AlertSeverity {
  return value === 'info' || value === 'warning' || value === 'critical';
}

// ── Chat ───────────────────────────────────────────────────────────────────────────────────────────────

/** The chat tool's JSON: `text` for notifications, `blocks` for the message itself. */
export function chatMessage(message: AlertMessage): { text: string; blocks: readonly unknown[] } {
  const facts = message.facts.map(({ label, value }) => markdown(`*${chatText(label)}*\n${chatText(value)}`));
  const closing = [severityWord(message.severity), instant(message.occurredAtMs), message.note];
  return {
    text: `${severityWord(message.severity)}: ${chatText(message.title)}`,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: message.title } },
      ...(facts.length > 0 ? [{ type: 'section', fields: facts }] : []),
      { type: 'section', text: markdown(`<${message.link}|Open in Gateway>`) },
      { type: 'context', elements: [markdown(closing.filter((part) => part !== null).join(' · '))] },
    ],
  };
}

function markdown(text: string) {
  return { type: 'mrkdwn', text };
}

/** The three characters with which a text could become a link or a mention. */
function chatText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function severityWord(severity: AlertSeverity): string {
  return { info: 'Info', warning: 'Warning', critical: 'Critical' }[severity];
}
