import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** Layout of everything sealed: version, nonce, authentication tag, ciphertext. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/**
 * Envelope encryption. The deployment's master key wraps one data key per tenant; the data key seals that
 * tenant's secrets. What a secret is for (tenant, table, row) is authenticated with it, so a ciphertext
 * copied to another row or tenant does not open.
 */
export interface Vault {
  makeDataKey(tenantId: string): Buffer;
  seal(tenantId: string, wrappedDataKey: Buffer, purpose: string, plaintext: string): Buffer;
  open(tenantId: string, wrappedDataKey: Buffer, purpose: string, sealed: Buffer): string;
  /** A key for one purpose of one tenant, the same each time; nothing about the data key can be learned from it. */
  deriveKey(tenantId: string, wrappedDataKey: Buffer, purpose: string): KeyObject;
  /** For secrets of the deployment itself, such as a mail that waits to be sent. */
  sealForDeployment(purpose: string, plaintext: string): Buffer;
  openForDeployment(purpose: string, sealed: Buffer): string;
}

export function openVault(masterKey: Buffer): Vault {
  if (masterKey.length !== KEY_BYTES) throw new Error('the master key must be 32 bytes');
  const dataKey = (tenantId: string, wrapped: Buffer) => decrypt(masterKey, `data-key:${tenantId}`, wrapped);
  return {
    makeDataKey: (tenantId) => encrypt(masterKey, `data-key:${tenantId}`, randomBytes(KEY_BYTES)),
    seal: (tenantId, wrapped, purpose, plaintext) =>
      encrypt(dataKey(tenantId, wrapped), `${tenantId}:${purpose}`, Buffer.from(plaintext)),
    open: (tenantId, wrapped, purpose, sealed) =>
      decrypt(dataKey(tenantId, wrapped), `${tenantId}:${purpose}`, sealed).toString(),
    deriveKey: (tenantId, wrapped, purpose) =>
      createSecretKey(
        createHmac('sha256', dataKey(tenantId, wrapped)).update(`${tenantId}:${purpose}`).digest(),
      ),
    sealForDeployment: (purpose, plaintext) =>
      encrypt(masterKey, `deployment:${purpose}`, Buffer.from(plaintext)),
    openForDeployment: (purpose, sealed) => decrypt(masterKey, `deployment:${purpose}`, sealed).toString(),
  };
}

function encrypt(key: Buffer, purpose: string, plaintext: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(purpose));
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body]);
}

function decrypt(key: Buffer, purpose: string, sealed: Buffer): Buffer {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION)
    throw new Error('not a sealed value');
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}
