/** No single exchange comes near this; a larger figure is a fault of the sender, not a bill. */
const MAX_TOKENS = 1_000_000_000;
const MAX_AUDIO_SECONDS = 10_000_000;
const MAX_NAME_BYTES = 256;
const MAX_MESSAGE_CHARS = 256;
const MAX_ANOMALIES = 20;

export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/**
 * Reads figures out of one reported usage and remembers what was wrong with them. A figure is null only where
 * it is absent or unusable: a reported zero is a zero.
 */
export class CountReader {
  readonly anomalies: string[] = [];

  note(anomaly: string): void {
    if (this.anomalies.length < MAX_ANOMALIES && !this.anomalies.includes(anomaly)) {
      this.anomalies.push(anomaly);
    }
  }

  /** The first of these names that holds a usable token count. */
  tokens(source: JsonObject | null, ...names: readonly string[]): number | null {
    for (const name of names) {
      const count = this.count(source?.[name], name);
      if (count !== null) return count;
    }
    return null;
  }

  count(value: unknown, name: string): number | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'number' && value < 0) {
      this.note(`${name} is negative`);
      return 0;
    }
    if (typeof value === 'number' && Number.isInteger(value) && value <= MAX_TOKENS) return value;
    this.note(`${name} is not a plausible count`);
    return null;
  }

  milliseconds(value: unknown, name: string): number | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'number' && value >= 0 && value <= MAX_AUDIO_SECONDS)
      return Math.round(value * 1000);
    this.note(`${name} is not a plausible duration`);
    return null;
  }

  /** As much of `part` as `whole` can hold: parts are stated beside their whole and may contradict it. */
  within(part: number, whole: number, anomaly: string): number {
    if (part <= whole) return part;
    this.note(anomaly);
    return whole;
  }
}

/** A model name or similar as it may be stored: bounded, without control characters. */
export function cleanName(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  let clean = value.replace(/\p{Cc}/gu, '').trim();
  while (Buffer.byteLength(clean) > MAX_NAME_BYTES) {
    clean = Array.from(clean.slice(0, MAX_NAME_BYTES)).slice(0, -1).join('');
  }
  return clean === '' ? null : clean;
}

/** `type: message` of an error object in the shapes the providers use. */
export function errorText(error: unknown): string | null {
  if (error === undefined || error === null || error === false) return null;
  if (typeof error === 'string') return clip(error);
  const object = asObject(error);
  if (object === null) return 'error';
  const kind = [object.type, object.code, object.status].find((part) => isText(part) || isNumber(part));
  const message = isText(object.message) ? object.message : null;
  return clip([kind, message].filter((part) => part !== undefined && part !== null).join(': ')) || 'error';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function clip(text: string): string {
  return text
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, MAX_MESSAGE_CHARS)
    .replace(/[\ud800-\udbff]$/, '');
}
