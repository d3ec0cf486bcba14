// Who may read.
import { describe, expect, it } from 'vitest';
import type { Credentials } from '../src/index.ts';
import { requestToken, useClient } from './simulated.ts';

const central = useClient({ profile: 'businessCentral' });
const sap = useClient({ profile: 'sap', secret: 'päss:word' });

const oauth2 = () => central.simulator.credentials as Extract<Credentials, { kind: 'oauth2' }>;

describe('OAuth 2.0', () => {
  it('issues tokens at another origin than the service’s', async () => {
    expect(new URL(oauth2().tokenUrl).origin).not.toBe(new URL(central.simulator.serviceRoot).origin);
    const response = await requestToken(oauth2());
    expect(await response.json()).toMatchObject({ token_type: 'Bearer', expires_in: 3599 });
  });

  it('takes id and secret in the header, too', async () => {
    const { tokenUrl, clientId, clientSecret, scope } = oauth2();
    const response = await fetch(tokenUrl, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    });
    expect(response.status).toBe(200);
  });

  it.each([
    [{ client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ client_id: 'wrong' }, 401, 'invalid_client'],
    [{ scope: 'wrong' }, 400, 'invalid_scope'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
  ])('with %j is %i', async (more, status, error) => {
    const response = await requestToken(oauth2(), more);
    expect([response.status, await response.json()]).toMatchObject([status, { error }]);
  });

  it('tokens end with their lifetime, and when they are revoked', async () => {
    const read = async () => (await central.get('customers')).status;
    expect(await read()).toBe(200);
    central.simulator.clock.step(3600);
    expect(await read()).toBe(401);
    central.simulator.clock.reset();
    expect(await read()).toBe(200);
    central.simulator.revokeTokens();
    expect(await read()).toBe(401);
  });

  it('401 says how to sign in', async () => {
    const response = await fetch(`${central.simulator.serviceRoot}$metadata`);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await response.json()).toMatchObject({ error: { code: 'Unauthorized' } });
  });
});

describe('basic', () => {
  it('takes user and password', async () => {
    expect(sap.simulator.credentials).toEqual({
      kind: 'basic',
      username: 'SIMULATOR',
      password: 'päss:word',
    });
    expect((await sap.get('PurchaseOrder')).status).toBe(200);
    expect((await sap.get('PurchaseOrder', { authorization: 'Basic eA==' })).status).toBe(401);
  });
});
