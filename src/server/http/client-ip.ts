import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Reads "10.0.0.0/8, ::1" into networks. Throws on anything else: the caller is the start-up. */
export function parseNetworks(list: readonly string[]): Network[] {
  return list.map(
    (cidr) =>
      ipaddr.parseCIDR(cidr.includes('/') ? cidr : `${cidr}/${cidr.includes(':') ? 128 : 32}`) as Network,
  );
}

/**
 * The address of the client. A forwarded header is believed only when the peer is a trusted proxy, and then
 * the rightmost hop that is not trusted counts: everything to its left is the client's own claim.
 */
export function clientIp(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: readonly Network[],
): string {
  let current = normalize(peer ?? '');
  if (trusted.length === 0 || !forwardedFor) return current;
  const hops = forwardedFor.split(',').map((hop) => normalize(hop.trim()));
  while (hops.length > 0 && isTrusted(current, trusted)) {
    const next = hops.pop()!;
    if (!ipaddr.isValid(next)) return current;
    current = next;
  }
  return current;
}

function normalize(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}

function isTrusted(address: string, trusted: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return trusted.some(
    ([network, bits]) => parsed.kind() === network.kind() && parsed.match(network as never, bits),
  );
}

/** One household is one client: an IPv6 subscriber owns a whole /64 and could rotate through it. */
export function rateLimitKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
