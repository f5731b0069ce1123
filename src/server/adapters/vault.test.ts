import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openVault } from './vault.ts';

const TENANT = '018f0000-0000-7000-8000-000000000001';
const OTHER = '018f0000-0000-7000-8000-000000000002';
const SECRET = 'sk-canary-provider-key';

const vault = openVault(randomBytes(32));
const dataKey = vault.makeDataKey(TENANT);
const sealed = vault.seal(TENANT, dataKey, 'provider_key:1', SECRET);

describe('the vault', () => {
  it('opens what it sealed, and seals the same text differently every time', () => {
    expect(vault.open(TENANT, dataKey, 'provider_key:1', sealed)).toBe(SECRET);
    expect(vault.seal(TENANT, dataKey, 'provider_key:1', SECRET).equals(sealed)).toBe(false);
  });

  it('shows nothing of the text in what it sealed', () => {
    expect(sealed.includes(SECRET)).toBe(false);
    expect(sealed.includes(SECRET.slice(3, 9))).toBe(false);
  });

  it('does not open a value copied to another row', () => {
    expect(() => vault.open(TENANT, dataKey, 'provider_key:2', sealed)).toThrow();
    expect(() => vault.open(TENANT, dataKey, 'chat_webhook', sealed)).toThrow();
  });

  it('does not open a value copied to another tenant, with or without its data key', () => {
    const otherKey = vault.makeDataKey(OTHER);
    expect(() => vault.open(OTHER, otherKey, 'provider_key:1', sealed)).toThrow();
    expect(() => vault.open(OTHER, dataKey, 'provider_key:1', sealed)).toThrow();
    expect(() => vault.open(TENANT, otherKey, 'provider_key:1', sealed)).toThrow();
  });

  it('does not open a value of which any one bit was flipped', () => {
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const tampered = Buffer.from(sealed);
      tampered[bit >> 3] = tampered[bit >> 3]! ^ (1 << (bit & 7));
      expect(() => vault.open(TENANT, dataKey, 'provider_key:1', tampered)).toThrow();
    }
  });

  it('does not open a value cut at any length', () => {
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(TENANT, dataKey, 'provider_key:1', sealed.subarray(0, length))).toThrow();
    }
  });

  it('does not open a data key of which any one bit was flipped', () => {
    for (let bit = 0; bit < dataKey.length * 8; bit++) {
      const tampered = Buffer.from(dataKey);
      tampered[bit >> 3] = tampered[bit >> 3]! ^ (1 << (bit & 7));
      expect(() => vault.open(TENANT, tampered, 'provider_key:1', sealed)).toThrow();
    }
  });

  it('opens nothing under another master key', () => {
    const stranger = openVault(randomBytes(32));
    expect(() => stranger.open(TENANT, dataKey, 'provider_key:1', sealed)).toThrow();
  });

  it('keeps the secrets of the deployment apart by purpose, and apart from those of tenants', () => {
    const mail = vault.sealForDeployment('send_mail', 'text');
    expect(vault.openForDeployment('send_mail', mail)).toBe('text');
    expect(() => vault.openForDeployment('forgot_password', mail)).toThrow();
    expect(() => vault.openForDeployment(`data-key:${TENANT}`, dataKey)).toThrow();
    expect(() => vault.open(TENANT, mail, 'provider_key:1', sealed)).toThrow();
  });

  it('refuses a master key that is not 32 bytes', () => {
    expect(() => openVault(Buffer.alloc(0))).toThrow();
    expect(() => openVault(randomBytes(31))).toThrow();
  });
});
