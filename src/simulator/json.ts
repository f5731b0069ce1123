export type Json = null | boolean | number | string | Json[] | JsonObject;
/** `undefined` members are allowed because JSON.stringify leaves them out, which is how a shape omits a field. */
export type JsonObject = { [name: string]: Json | undefined };

/** Deeper text than this is not counted; a hostile body must not overflow the stack. */
const MAX_TEXT_DEPTH = 64;
/** Strings that are not prose: payloads, addresses and discriminators are not counted as tokens. */
const UNCOUNTED = new Set([
  'data',
  'url',
  'image_url',
  'file_data',
  'fileUri',
  'id',
  'type',
  'role',
  'mimeType',
]);

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseObject(bytes: Buffer): JsonObject | null {
  if (bytes.length === 0) return null;
  try {
    const value = JSON.parse(bytes.toString('utf8')) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function stringIn(object: JsonObject | null, name: string): string | null {
  const value = object?.[name];
  return typeof value === 'string' ? value : null;
}

export function objectIn(object: JsonObject | null, name: string): JsonObject | null {
  const value = object?.[name];
  return isObject(value) ? value : null;
}

export function listIn(object: JsonObject | null, name: string): Json[] {
  const value = object?.[name];
  return Array.isArray(value) ? value : [];
}

/** UTF-8 bytes of all prose in a request part. */
export function textBytes(value: Json | undefined, depth = 0): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null || depth > MAX_TEXT_DEPTH) return 0;
  let bytes = 0;
  if (Array.isArray(value)) {
    for (const item of value) bytes += textBytes(item, depth + 1);
    return bytes;
  }
  for (const name in value) if (!UNCOUNTED.has(name)) bytes += textBytes(value[name], depth + 1);
  return bytes;
}
