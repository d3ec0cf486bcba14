// Whether an address stays on this machine: only there may sign-in go without TLS.
import { isIPv4 } from 'node:net';

/** Of a URL's host name, as `URL` writes it. */
export const isLoopbackName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));

/** A plain http address on this machine. */
export const isLoopbackHttp = (address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && url.protocol === 'http:' && isLoopbackName(url.hostname);
};
