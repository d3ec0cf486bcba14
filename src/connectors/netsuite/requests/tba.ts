// Token-based authentication: OAuth 1.0a with HMAC-SHA256, signed according to RFC 5849, section 3.4.1. Every
// request gets a new signature, because NetSuite accepts a nonce only once.
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import type { Authorizer } from './auth.ts';

export type TbaKeys = {
  readonly consumerKey: string;
  readonly consumerSecret: string;
  readonly tokenId: string;
  readonly tokenSecret: string;
};
/** `timestamp` in seconds since 1970. */
export type TbaMoment = { readonly nonce: string; readonly timestamp: number };

const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const byText = (one: readonly [string, string], other: readonly [string, string]): number => {
  const [a, b] = one[0] === other[0] ? [one[1], other[1]] : [one[0], other[0]];
  return a < b ? -1 : a > b ? 1 : 0;
};

const oauthParameters = (keys: TbaKeys, moment: TbaMoment): [string, string][] => [
  ['oauth_consumer_key', keys.consumerKey],
  ['oauth_token', keys.tokenId],
  ['oauth_nonce', moment.nonce],
  ['oauth_timestamp', String(moment.timestamp)],
  ['oauth_signature_method', 'HMAC-SHA256'],
  ['oauth_version', '1.0'],
];

/** The signature in base64. It covers the parameters of the URL, but not the body. */
export function signTba(method: string, address: string, keys: TbaKeys, moment: TbaMoment): string {
  const url = new URL(address);
  const parameters = [...oauthParameters(keys, moment), ...url.searchParams]
    .map(([name, value]): [string, string] => [encode(name), encode(value)])
    .sort(byText)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const base = [method.toUpperCase(), `${url.origin}${url.pathname}`, parameters].map(encode).join('&');
  return createHmac('sha256', `${encode(keys.consumerSecret)}&${encode(keys.tokenSecret)}`)
    .update(base)
    .digest('base64');
}

export function tbaHeader(realm: string, method: string, address: string, keys: TbaKeys, moment: TbaMoment) {
  const signed: [string, string][] = [
    ...oauthParameters(keys, moment),
    ['oauth_signature', signTba(method, address, keys, moment)],
  ];
  return `OAuth realm="${realm}", ${signed.map(([name, value]) => `${name}="${encode(value)}"`).join(', ')}`;
}

export function createTbaAuthorizer(clock: Clock, realm: string, keys: TbaKeys): Authorizer {
  return {
    async authorize({ method, url }) {
      const moment = {
        nonce: randomBytes(16).toString('hex'),
        timestamp: Math.floor(clock.now().getTime() / 1000),
      };
      return tbaHeader(realm, method, url, keys, moment);
    },
    invalidate() {
      // nothing is cached: every header is new
    },
  };
}
