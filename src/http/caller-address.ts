// Where a request comes from.
import { isIP } from 'node:net';
import type { Request } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';

/** The caller's IP address, or `unknown`: behind proxies it comes from a header, which may hold anything. */
export function callerAddress(req: Request): string {
  const ip = (req.ip ?? req.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(ip) === 0 ? 'unknown' : ip;
}

/** What failures count by: an IPv4 address or the /64 of an IPv6 one, all of which one person controls. */
export function callerNetwork(req: Request): string {
  const ip = callerAddress(req);
  return isIP(ip) === 6 ? ipKeyGenerator(ip, 64) : ip;
}
