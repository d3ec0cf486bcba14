import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller, Principal } from '../../src/core/ctx.ts';
import { unlimitedLayer } from '../../src/core/record-access.ts';
import { createTokenVerifier } from '../../src/identity/access-token.ts';
import { identify } from '../../src/identity/principal.ts';
import { openBrowser } from '../setup/identity-provider.ts';
import { makeKey } from '../setup/organization.ts';
import { useSignIn } from '../setup/use-sign-in.ts';

const site = useSignIn();
let session: string;
beforeAll(async () => {
  const browser = openBrowser();
  await browser.signIn(site.origin, 'owner');
  session = browser.session();
});

const identified = (given: { authorization?: string; session?: string }): Promise<Caller> =>
  identify(
    site.ctx,
    {
      authorization: given.authorization,
      sessions: given.session === undefined ? [] : [given.session],
      organization: undefined,
    },
    createTokenVerifier(site.ctx.settings.oidc, site.ctx),
  );

describe('a key, a token and a session of one person', () => {
  it('yield the same principal except for the credential and masked fields', async () => {
    const key = await makeKey(site.ctx, site.organization.id, { permissions: ['write'] });
    const callers = [
      await identified({ authorization: `Bearer ${key.secret}` }),
      await identified({ authorization: `Bearer ${await site.agentToken()}` }),
      await identified({ session }),
    ];
    expect(callers.map(({ credential }) => credential.kind)).toEqual(['api-key', 'oauth', 'session']);
    const principals = callers
      .map(({ principal }) => principal)
      .filter((principal): principal is Principal => principal !== undefined);
    expect(principals).toHaveLength(3);
    const [byKey, byToken, bySession] = principals.map(({ credential: _credential, ...rest }) => rest);
    expect(byKey).toMatchObject({
      user: { id: site.organization.ownerId, name: 'Owner of Acme' },
      organization: { id: site.organization.id },
    });
    expect(byKey?.permissions.size).toBeGreaterThan(20);
    expect(byKey?.reads).toEqual({ layers: [unlimitedLayer], unmasked: false });
    expect(byToken).toEqual({ ...byKey, reads: { layers: [], unmasked: true } });
    expect(bySession).toEqual(byToken);
    for (const { user, readOnly, refusal } of callers)
      expect([user.id, readOnly, refusal]).toEqual([site.organization.ownerId, false, undefined]);
  });

  it('can be restricted to reading: a key by its access level, a token by its scope', async () => {
    const key = await makeKey(site.ctx, site.organization.id);
    const byKey = await identified({ authorization: `Bearer ${key.secret}` });
    const byToken = await identified({ authorization: `Bearer ${await site.agentToken('portal:read')}` });
    expect(byToken.principal?.permissions).toEqual(byKey.principal?.permissions);
    expect([
      byKey.principal?.permissions.has('sync:read'),
      byKey.principal?.permissions.has('sync:create'),
    ]).toEqual([true, false]);
  });
});
