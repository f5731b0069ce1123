import type { KeyedHash } from '../../ledger/keyed-hash.ts';

/**
 * Fingerprints tell that two prompts of one tenant are the same without keeping a byte of them: keyed hashes,
 * cut to sixteen bytes, under a key of that tenant alone, so that nobody can guess a prompt from one or compare
 * two tenants.
 *
 * They are made while the client waits, so their cost is bounded: at most 28 KiB of a body are hashed, where
 * prompts differ, at the beginnings and ends. Short bodies are compared exactly; of long ones, two that agree in
 * length and in those parts are taken for the same.
 */
const PREFIX_BYTES = 4 * 1024;
const LONG_PREFIX_BYTES = 16 * 1024;
const END_BYTES = 4 * 1024;
const FINGERPRINT_DIGITS = 32;

/** Hexadecimal; null where there is nothing to compare. */
export interface PromptFingerprints {
  prompt_fingerprint: string | null;
  /** Of the first four KiB of the prompt: what a provider's cache could have kept. Null when it is shorter. */
  prefix_fingerprint: string | null;
  /** The same for the first sixteen KiB. */
  long_prefix_fingerprint: string | null;
}

export const NO_FINGERPRINTS: PromptFingerprints = {
  prompt_fingerprint: null,
  prefix_fingerprint: null,
  long_prefix_fingerprint: null,
};

/**
 * Where a prompt begins in each wire's JSON: settings that stand before it (and may differ from call to call)
 * are no part of what a cache keeps. The first that occurs counts.
 */
const PROMPT_KEYS: Record<'openai' | 'anthropic' | 'gemini', readonly string[]> = {
  openai: ['"instructions":', '"messages":', '"input":'],
  anthropic: ['"system":', '"messages":'],
  gemini: ['"systemInstruction":', '"system_instruction":', '"contents":'],
};

export function fingerprintPrompt(
  keyed: KeyedHash,
  wire: keyof typeof PROMPT_KEYS,
  body: Buffer,
): PromptFingerprints {
  if (body.length === 0) return NO_FINGERPRINTS;
  const start = promptStart(wire, body);
  let hashedTo = start;
  let prefix: string | null = null;
  let longPrefix: string | null = null;
  if (body.length - start >= PREFIX_BYTES) {
    hashedTo = start + PREFIX_BYTES;
    prefix = cut(keyed(body.subarray(start, hashedTo)));
  }
  if (prefix && body.length - start >= LONG_PREFIX_BYTES) {
    hashedTo = start + LONG_PREFIX_BYTES;
    longPrefix = cut(keyed(prefix, body.subarray(start + PREFIX_BYTES, hashedTo)));
  }
  // Each step takes in the one before, so no byte is hashed twice.
  const shape = `${body.length}:${start}:`;
  const prompt = keyed(
    shape,
    longPrefix ?? prefix ?? shape,
    ...endsOf(body.subarray(0, start)),
    body.subarray(longPrefix ? Math.max(hashedTo, body.length - END_BYTES) : hashedTo),
  );
  return {
    prompt_fingerprint: cut(prompt),
    prefix_fingerprint: prefix,
    long_prefix_fingerprint: longPrefix,
  };
}

function promptStart(wire: keyof typeof PROMPT_KEYS, body: Buffer): number {
  for (const key of PROMPT_KEYS[wire]) {
    const at = body.indexOf(key);
    if (at >= 0) return at;
  }
  return 0;
}

/** Some clients write the conversation before the system prompt: what changes is then at the end of this part. */
function endsOf(part: Buffer): Buffer[] {
  if (part.length <= 2 * END_BYTES) return [part];
  return [part.subarray(0, END_BYTES), part.subarray(part.length - END_BYTES)];
}

function cut(digest: string): string {
  return digest.slice(0, FINGERPRINT_DIGITS);
}
