// Recognizes loopback addresses, the only ones for which plain http is acceptable where secrets travel.
import { isIPv4 } from 'node:net';

/** Takes a host name as `URL.hostname` writes it. */
export const isLoopbackName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));

/** Whether the address is a plain http URL on this machine. */
export const isLoopbackHttp = (address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && url.protocol === 'http:' && isLoopbackName(url.hostname);
};
