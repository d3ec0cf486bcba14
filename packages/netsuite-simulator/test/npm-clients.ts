// Set-up of the npm clients that sign requests themselves.
import { createHmac } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import type { NetsuiteAccount } from '../src/account.ts';
import type { TokenCredentials } from '../src/sign-in/token-credentials.ts';
import { ACCOUNT_ID } from './test-account.ts';

/** For @fye/netsuite-rest-api. */
export const restApiConfiguration = ({ url }: NetsuiteAccount, keys: TokenCredentials) => ({
  netsuiteApiHost: new URL(url).host,
  consumerKey: keys.consumerKey,
  consumerSecret: keys.consumerSecret,
  netsuiteAccountId: ACCOUNT_ID,
  netsuiteTokenKey: keys.tokenId,
  netsuiteTokenSecret: keys.tokenSecret,
  testEnv: true,
  netsuiteQueryLimit: 1000,
});

/** The Authorization header that oauth-1.0a makes for the request. */
export function signWithOauth(keys: TokenCredentials, request: OAuth.RequestOptions): string {
  const oauth = new OAuth({
    consumer: { key: keys.consumerKey, secret: keys.consumerSecret },
    realm: ACCOUNT_ID,
    signature_method: 'HMAC-SHA256',
    hash_function: (base, key) => createHmac('sha256', key).update(base).digest('base64'),
  });
  return oauth.toHeader(oauth.authorize(request, { key: keys.tokenId, secret: keys.tokenSecret }))
    .Authorization;
}
