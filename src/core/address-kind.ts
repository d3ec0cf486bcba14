// Which IP addresses belong to the public internet, which to a private network, and which are neither and never called.
import { BlockList, isIP } from 'node:net';

/** `private`: loopback, RFC 1918 and unique-local. `refused`: link-local, shared, multicast, reserved, or an address inside an address. */
export type AddressKind = 'public' | 'private' | 'refused';

type Range = readonly [network: string, prefix: number];

const listOf = (family: 'ipv4' | 'ipv6', ranges: readonly Range[]): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
};

// Kept apart by family: one list for both would match an IPv4 address against rules meant for mapped IPv6 addresses.
const private4 = listOf('ipv4', [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]);
const private6 = listOf('ipv6', [
  ['::1', 128],
  ['fc00::', 7],
]);

const refused4 = listOf('ipv4', [
  ['0.0.0.0', 8], // unspecified, "this network"
  ['100.64.0.0', 10], // shared by carriers
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

/** All public IPv6 addresses lie in 2000::/3; mapped, NAT64 and link-local ones lie outside and so are refused. */
const global6 = listOf('ipv6', [['2000::', 3]]);
const refused6 = listOf('ipv6', [
  ['2001::', 23], // Teredo and other protocol assignments
  ['2001:db8::', 32],
  ['3fff::', 20], // documentation
  ['2002::', 16], // 6to4: an IPv4 address inside
]);

export function addressKind(address: string): AddressKind {
  const [bare = ''] = address.split('%');
  const family = isIP(bare);
  if (family === 4) return private4.check(bare, 'ipv4') ? 'private' : refused4.check(bare, 'ipv4') ? 'refused' : 'public';
  if (family !== 6) return 'refused';
  if (private6.check(bare, 'ipv6')) return 'private';
  return global6.check(bare, 'ipv6') && !refused6.check(bare, 'ipv6') ? 'public' : 'refused';
}
