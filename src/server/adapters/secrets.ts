import { randomBytes } from 'node:crypto';
import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent, writeFileDurably } from './durable-file.ts';

const SECRET_BYTES = 32;
const MIN_SECRET_CHARS = 32;

export type Secrets = { masterKey: Buffer; jwtSecret: string; ledgerSecret: string; operatorToken: string };

export type SecretsReading =
  | { kind: 'secrets'; secrets: Secrets; file: string }
  | { kind: 'refused'; message: string };

/** As stored: null marks a secret that the environment gave, which must therefore never be made up later. */
type StoredSecrets = Record<keyof Secrets, string | null>;

const VARIABLE_OF: Record<keyof Secrets, string> = {
  masterKey: 'GATEWAY_MASTER_KEY',
  jwtSecret: 'GATEWAY_JWT_SECRET',
  ledgerSecret: 'GATEWAY_LEDGER_SECRET',
  operatorToken: 'GATEWAY_OPERATOR_TOKEN',
};

/**
 * The secrets given, completed by those kept in the data directory, which are made once, at the first start.
 * A given secret wins over a kept one.
 */
export async function loadSecrets(dataDir: string, given: Partial<Secrets>): Promise<SecretsReading> {
  const file = join(dataDir, 'secrets.json');
  const text = await readIfPresent(file);
  if (text === null) await writeFileDurably(file, `${JSON.stringify(makeSecrets(given), null, 2)}\n`);
  const stored = parseSecrets(text ?? (await readFile(file, 'utf8')));
  if (stored === null) {
    return {
      kind: 'refused',
      message: `${file} is damaged; restore it from a backup (a new one could not open what the old one encrypted)`,
    };
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);

  const missing = (Object.keys(VARIABLE_OF) as (keyof Secrets)[]).find(
    (name) => given[name] === undefined && stored[name] === null,
  );
  if (missing !== undefined) {
    return {
      kind: 'refused',
      message: `${VARIABLE_OF[missing]} was set at the first start on this data directory and is now missing; set it again`,
    };
  }
  return {
    kind: 'secrets',
    file,
    secrets: {
      masterKey: given.masterKey ?? Buffer.from(stored.masterKey ?? '', 'base64'),
      jwtSecret: given.jwtSecret ?? stored.jwtSecret ?? '',
      ledgerSecret: given.ledgerSecret ?? stored.ledgerSecret ?? '',
      operatorToken: given.operatorToken ?? stored.operatorToken ?? '',
    },
  };
}

function makeSecrets(given: Partial<Secrets>): StoredSecrets {
  const hex = () => randomBytes(SECRET_BYTES).toString('hex');
  return {
    masterKey: given.masterKey ? null : randomBytes(SECRET_BYTES).toString('base64'),
    jwtSecret: given.jwtSecret ? null : hex(),
    ledgerSecret: given.ledgerSecret ? null : hex(),
    operatorToken: given.operatorToken ? null : hex(),
  };
}

function parseSecrets(text: string): StoredSecrets | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { masterKey, jwtSecret, ledgerSecret, operatorToken } = value as Record<string, unknown>;
  const isKept = (field: unknown): field is string | null =>
    field === null || (typeof field === 'string' && field.length >= MIN_SECRET_CHARS);
  if (!isKept(masterKey) || !isKept(jwtSecret) || !isKept(ledgerSecret) || !isKept(operatorToken))
    return null;
  if (masterKey !== null && Buffer.from(masterKey, 'base64').length !== SECRET_BYTES) return null;
  return { masterKey, jwtSecret, ledgerSecret, operatorToken };
}
