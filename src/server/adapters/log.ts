import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

const STDERR = 2;

// Each pattern stops at quotes and backslashes, so a redacted line is still valid JSON.
const SECRET_PATTERNS: readonly [RegExp, string][] = [
  [/\bgw_(live|test)_[A-Za-z0-9_-]+/g, 'gw_$1_[redacted]'],
  [/\bsk-[A-Za-z0-9_-]{6,}/g, 'sk-[redacted]'],
  [/\bAIza[A-Za-z0-9_-]{10,}/g, 'AIza[redacted]'],
  [/\bwh_[A-Za-z0-9+/=]{16,}/g, 'wh_[redacted]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, '[redacted jwt]'],
  [/\b(Bearer|Basic) +[^\s"\\,]+/gi, '$1 [redacted]'],
  [/([?&](?:key|token|api_key)=)[^\s"\\&]+/gi, '$1[redacted]'],
  [/(:\/\/[^\s"\\/:@]*:)[^\s"\\/@]+@/g, '$1[redacted]@'],
  // A named field, whatever its value looks like; the value may hold escaped quotes.
  [
    /("(?:proxy-)?(?:authorization|x-api-key|x-goog-api-key|api-key|cookie|set-cookie|password|secret|master_?key|token)"\s*:\s*)"(?:[^"\\]|\\.)*"/gi,
    '$1"[redacted]"',
  ],
];

export function redactSecrets(line: string): string {
  return SECRET_PATTERNS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}

/** Logs go to stderr and are written at once: the last line before a crash is the one that matters. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redactSecrets },
    },
    destination ?? pino.destination({ dest: STDERR, sync: true }),
  );
}
