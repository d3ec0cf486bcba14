// Classifies IP addresses: public internet, private network, or neither. The service never connects to the
// last kind.
import { BlockList, isIP } from 'node:net';

/**
 * `private`: loopback, RFC 1918 and unique-local. `refused`: link-local, shared, multicast, reserved, or an
 * IPv4 address embedded in an IPv6 one. Ranges are those of the IANA special-purpose address registries.
 */
export type AddressKind = 'public' | 'private' | 'refused';

type Range = readonly [network: string, prefix: number];

const createBlockList = (family: 'ipv4' | 'ipv6', ranges: readonly Range[]): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
};

// One list per family: a combined list would match IPv4 addresses against rules for mapped IPv6 ones.
const private4 = createBlockList('ipv4', [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]);
const private6 = createBlockList('ipv6', [
  ['::1', 128],
  ['fc00::', 7],
]);

const refused4 = createBlockList('ipv4', [
  ['0.0.0.0', 8], // unspecified, "this network"
  ['100.64.0.0', 10], // carrier-grade NAT
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24], // protocol assignments, documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['198.18.0.0', 15], // benchmarks
  ['224.0.0.0', 4],
  ['240.0.0.0', 4], // multicast, reserved, broadcast
]);

/** Public IPv6 addresses are all in 2000::/3; mapped, NAT64 and link-local ones are not, so are refused. */
const global6 = createBlockList('ipv6', [['2000::', 3]]);
const refused6 = createBlockList('ipv6', [
  ['2001::', 23], // Teredo and other protocol assignments
  ['2001:db8::', 32],
  ['3fff::', 20], // documentation
  ['2002::', 16], // 6to4: embeds an IPv4 address
]);

/**
 * Classifies an address as written in a DNS answer or a URL (without brackets). Anything that isn't an IP
 * address is `refused`.
 */
export function addressKind(address: string): AddressKind {
  const [bare = ''] = address.split('%');
  const family = isIP(bare);
  if (family === 4)
    return private4.check(bare, 'ipv4') ? 'private' : refused4.check(bare, 'ipv4') ? 'refused' : 'public';
  if (family !== 6) return 'refused';
  if (private6.check(bare, 'ipv6')) return 'private';
  return global6.check(bare, 'ipv6') && !refused6.check(bare, 'ipv6') ? 'public' : 'refused';
}
