import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where nothing of the public internet lives, and what some clouds answer their machines from. */
const CLOSED_IPV4 = [
  '0.0.0.0/8', // "this network"; 0.0.0.0 reaches the machine itself
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT, and the metadata service of one cloud
  '127.0.0.0/8',
  '168.63.129.16/32', // a cloud's platform service behind a public-looking address
  '169.254.0.0/16', // link-local, where most metadata services are
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4', // with the broadcast address
].map((network) => ipaddr.IPv4.parseCIDR(network));

/** IPv6 of the public internet, as far as it is given out at all: everything outside is closed. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
const CLOSED_IPV6 = [
  '2001::/23', // protocol assignments, Teredo among them, which hides an IPv4 address
  '2001:db8::/32',
  '2002::/16', // 6to4, which hides one too; given up on the public internet
  '3ffe::/16',
  '3fff::/20',
].map((network) => ipaddr.IPv6.parseCIDR(network));
/** Networks without IPv4 reach all of it through these, so the address inside decides. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const EMBEDDED_IPV4_BYTE = 12;

/** Whether an IP address, as the resolver or a socket spells it, belongs to the public internet. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === null) return false;
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  if (address.match(NAT64)) {
    return isPublicIpv4(new ipaddr.IPv4(address.toByteArray().slice(EMBEDDED_IPV4_BYTE)));
  }
  return address.match(GLOBAL_IPV6) && !CLOSED_IPV6.some((network) => address.match(network));
}

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return !CLOSED_IPV4.some((network) => address.match(network));
}

export function isLoopbackAddress(text: string): boolean {
  return parseAddress(text)?.range() === 'loopback';
}

/** Null for what is none. ::ffff:a.b.c.d becomes the IPv4 address that it stands for. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text);
  // Through the URL parser, because the library takes ::a.b.c.d for ::ffff:a.b.c.d, which is another address.
  const url = `http://[${text}]`;
  return isIP(text) === 6 && URL.canParse(url) ? ipaddr.process(new URL(url).hostname.slice(1, -1)) : null;
}
