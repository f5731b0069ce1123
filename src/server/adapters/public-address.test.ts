import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from './public-address.ts';

const CLOSED = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254
  168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192
  192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9
  224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254
  ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::169.254.169.254
  64:ff9b:1::1 64:ff9b:1::8.8.8.8 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1
  2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2002:808:808:: 3ffe::1 3fff::1
  4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 feff::1 ff02::1 ff0e::1
`
  .trim()
  .split(/\s+/);
const OPEN = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 168.63.129.15
  169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255
  198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 2606:4700::1111
  2a00:1450:4001::1 2003::1
`
  .trim()
  .split(/\s+/);

describe('an address', () => {
  it.each(CLOSED)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));
  it.each(OPEN)('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));
  it.each([
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
    '256.1.1.1',
    '1.1.1.1:80',
    '[::1]',
    'fe80::1%eth0',
  ])('that is none, "%s", is not public', (text) => expect(isPublicAddress(text)).toBe(false));

  it('says the same of IPv4 whether plain, mapped or behind NAT64', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const verdict = isPublicAddress(address);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(verdict);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(verdict);
      }),
    );
  });

  it('of IPv6 outside the global range is never public', () => {
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    fc.assert(
      fc.property(fc.nat(0xffff), fc.array(group, { minLength: 7, maxLength: 7 }), (first, rest) => {
        fc.pre(first < 0x2000 || first > 0x3fff);
        fc.pre(!(first === 0x64 && rest[0] === 'ff9b') && !(first === 0 && rest[4] === 'ffff'));
        expect(isPublicAddress([first.toString(16), ...rest].join(':'))).toBe(false);
      }),
    );
  });
});
