// Minting and revoking tokens: who may, for what, and what is stored and shown of them.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createKeyring } from '../../../src/core/secrets/keyring.ts';
import { instant } from '../../../src/http/fields.ts';
import { getTokenSigner } from '../../../src/identity/record-token.store.ts';
import { signToken } from '../../../src/identity/record-token.ts';
import { decoded, ofCustomer, oneToken, openTokenSite } from '../../public/serve/tokens-site.ts';
import { type Answer, type Api, createApi, listProblems, refusal, signedInApi } from '../../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';

const site = useStarted(() => openTokenSite());

const person = async (role: string | readonly string[]) => {
  const { id } = await makeMember(site.ctx, site.organization.id, role);
  const { cookie } = await makeSession(site.ctx, id, site.organization.id);
  return { id, api: signedInApi(site.app, site.ctx, cookie) };
};
const anyToken = { tokens: [{ scopes: {} }] };
const scoped = (scopes: object) => [{ scopes }];
const mintAs = (api: Api, { id }: { id: string }, body: object = anyToken) =>
  api('post', `/api-keys/${id}/tokens`, body);
const revokeAs = (secret: string, id: string, subject = 'x') =>
  createApi(site.app, secret)('delete', `/api-keys/${id}/tokens?subject=${subject}`);
/** A key that the owner makes, with its secret. */
const makeOwn = async (body: object): Promise<{ id: string; secret: string }> =>
  (await site.owner('post', '/api-keys', { name: 'made', ...body })).body;
/** The status of a refusal, and its first problem. */
const firstProblem = (answer: Answer) => [answer.status, listProblems(answer)[0]];
const hundred = (length: number) =>
  ofCustomer(...Array.from({ length: 100 }, (_, index) => `${index}${'x'.repeat(length)}`));

describe('POST /api-keys/{id}/tokens', () => {
  it('mints tokens that name the key, its secret, the organization and the scopes, and show nothing else', async () => {
    const key = await site.key();
    const answer = await site.mint(key.secret, key.id, [
      { subject: 'ann', expiresInSeconds: 60, scopes: ofCustomer('ann') },
      { scopes: { resources: ['bills'], fields: { bills: ['number'] } } },
    ]);
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
    const [first, second] = answer.body.tokens;
    expect([first.subject, second.subject]).toEqual(['ann', null]);
    expect(first.token).toMatch(/^pst_[\w-]+\.[\w-]+\.[\w-]{86}$/);
    const { header, claims } = decoded(first.token);
    expect(header).toEqual({ alg: 'ES256', typ: 'pst+jwt', kid: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const condition = { field: 'customer', source: 'entity', in: ['ann'] };
    const invoices = { recordType: 'invoice', conditions: [condition] };
    expect(claims).toEqual({
      iss: `${site.ctx.settings.publicUrl}/api/platform/v1`,
      aud: 'urn:portal-service:records',
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      iat: expect.any(Number),
      exp: expect.closeTo(Number(claims['iat']) + 60, 3),
      sub: 'ann',
      organization: site.organization.id,
      key: key.id,
      mark: expect.stringMatching(/^[\w-]{43}$/),
      mintedBy: null,
      scopes: { versions: [], resources: [], rows: { resources: { invoices }, others: false }, fields: null },
      unmasked: false,
    });
    expect(Math.abs(Date.parse(first.expiresAt) - Number(claims['exp']) * 1_000)).toBeLessThan(1_000);
    expect(decoded(second.token).claims).toMatchObject({
      sub: '',
      scopes: { resources: ['bills'], rows: null, fields: { bills: ['number'] } },
    });
  });

  it('is open to each living key for itself: read-only, restricted, with row and field scopes, of a former member', async () => {
    const keys = [
      await site.key(),
      await site.key({ permissions: ['write'] }),
      await site.key({ versions: ['v1'], resources: ['invoices'] }),
      await makeOwn({ scopes: ofCustomer('ann') }),
      await makeOwn({ scopes: { fields: { invoices: ['number'] } } }),
    ];
    const leaver = await makeMember(site.ctx, site.organization.id, 'viewer');
    keys.push(await site.key({ createdBy: leaver.id }));
    await site.sql((tx) => tx('memberships').where('user_id', leaver.id).delete());
    for (const { id, secret } of keys) {
      expect((await site.mint(secret, id, scoped({}))).status).toBe(201);
      expect((await revokeAs(secret, id)).status).toBe(204);
    }
  });

  it('is closed to a key for another key, unless it may do what a person needs', async () => {
    const target = await site.key();
    const restricted = await site.key({ resources: ['invoices'] });
    for (const { secret } of [await site.key(), restricted]) {
      expect((await mintAs(createApi(site.app, secret), target)).status).toBe(403);
      expect((await revokeAs(secret, target.id)).status).toBe(403);
    }
    expect((await mintAs(site.owner, target)).status).toBe(201);
  });

  it('by a person names them in the token', async () => {
    const both = await person(['api-key:update', 'record:read']);
    const minted = await mintAs(both.api, await site.key());
    expect(minted.status).toBe(201);
    expect(decoded(minted.body.tokens[0].token).claims['mintedBy']).toBe(both.id);
  });

  it('422 for a key that is revoked or expired', async () => {
    const [revoked, expired] = [await site.key(), await site.key()];
    await site.owner('delete', `/api-keys/${revoked.id}`);
    await site.sql((tx) => tx('api_keys').where('id', expired.id).update({ expires_at: '2020-01-01' }));
    for (const [{ id, secret }, code] of [[revoked, 'revoked'] as const, [expired, 'expired'] as const]) {
      expect(await refusal(mintAs(site.owner, { id }))).toEqual([422, code]);
      expect((await site.mint(secret, id, scoped({}))).status).toBe(401);
    }
  });

  it('never outlives the secret with which it ends', async () => {
    const endsAt = new Date(Date.now() + 30_000);
    const key = await makeOwn({ expiresAt: endsAt.toISOString() });
    for (const answer of [await site.mint(key.secret, key.id, scoped({})), await mintAs(site.owner, key)])
      expect(answer.body.tokens[0].expiresAt).toBe(instant(endsAt));
  });

  it('mints unmasked tokens only when key and person both read unmasked', async () => {
    const unmasked = { tokens: scoped({ unmasked: true }) };
    const plain = await site.key();
    const refused = await site.mint(plain.secret, plain.id, [...scoped({}), ...unmasked.tokens]);
    expect(firstProblem(refused)).toEqual([403, 'tokens[1].scopes.unmasked escalation']);
    const open = await site.key();
    await site.sql((tx) => tx('api_keys').where('id', open.id).update({ scope_unmasked: true }));
    expect((await site.mint(open.secret, open.id, unmasked.tokens)).status).toBe(201);
    const clerk = await person(['api-key:update', 'record:read']);
    const owner = await person('owner');
    expect((await mintAs(clerk.api, open, unmasked)).status).toBe(403);
    expect((await mintAs(owner.api, open, unmasked)).status).toBe(201);
    expect((await mintAs(owner.api, plain, unmasked)).status).toBe(403);
  });

  const at = 'tokens[0].scopes';
  const notScopable = { rows: { invoices: [{ field: 'status', in: ['open'] }] } };
  it.each<[string, unknown, string]>([
    [
      'an unknown version',
      [...scoped({}), ...scoped({ versions: ['v9'] })],
      'tokens[1].scopes.versions unknown_version',
    ],
    ['an unknown resource', scoped({ resources: ['orders'] }), `${at}.resources unknown_resource`],
    ['an unknown field', scoped({ fields: { invoices: ['margin'] } }), `${at}.fields.invoices unknown_field`],
    ['a field that is not scopable', scoped(notScopable), `${at}.rows.invoices[0].field not_scopable`],
    ['too many values to fit', scoped(hundred(60)), `${at} too_long`],
  ])('422 for %s', async (_name, tokens, problem) => {
    const key = await site.key();
    expect(firstProblem(await site.mint(key.secret, key.id, tokens))).toEqual([422, problem]);
  });

  it('names no scopable field that its key may not read', async () => {
    const scopes = { versions: ['v1'], resources: ['invoices'], fields: { invoices: ['number'] } };
    const key = await makeOwn({ scopes });
    const rows = { invoices: [{ field: 'number', in: ['1'] }] };
    const answer = await site.mint(key.secret, key.id, scoped({ rows }));
    expect(firstProblem(answer)).toEqual([422, `${at}.rows.invoices[0].field not_scopable`]);
    expect(JSON.stringify(answer.body)).not.toContain('customer');
  });

  it('refuses what its key may not read in the same words, whether or not it exists', async () => {
    const fields = { invoices: ['number', 'customer'] };
    const key = await makeOwn({ scopes: { versions: ['v1'], resources: ['invoices'], fields } });
    const fewer = { scope_fields: JSON.stringify({ invoices: ['number'] }) };
    await site.sql((tx) => tx('api_keys').where('id', key.id).update(fewer));
    const shown = async (scope: object) => {
      const { status, body } = await site.mint(key.secret, key.id, scoped(scope));
      const details = JSON.stringify(body.error.details);
      return [status, details.replaceAll(/bills|nothing|customer|phantom|v2|v8/g, '…')];
    };
    const pairs = [
      [{ resources: ['bills'] }, { resources: ['nothing'] }],
      [{ rows: { bills: [] } }, { rows: { nothing: [] } }],
      [{ fields: { bills: ['number'] } }, { fields: { nothing: ['number'] } }],
      [{ fields: { invoices: ['customer'] } }, { fields: { invoices: ['phantom'] } }],
      [ofCustomer('ann'), { rows: { invoices: [{ field: 'phantom', in: ['ann'] }] } }],
      [{ versions: ['v2'] }, { versions: ['v8'] }],
    ] as const;
    for (const [existing, absent] of pairs) {
      const answer = await shown(existing);
      expect(answer).toEqual([422, expect.stringContaining('beyond_key')]);
      expect(await shown(absent)).toEqual(answer);
    }
  });

  it('names the subjects in the audit log, and nothing of scopes and tokens', async () => {
    const key = await site.key();
    await site.mint(key.secret, key.id, [
      { subject: 'ann', scopes: ofCustomer('unmistakable') },
      { subject: 'bob', scopes: {} },
      { subject: 'ann', scopes: {} },
    ]);
    await revokeAs(key.secret, key.id, 'bob');
    const rows = await site.sql((tx) =>
      tx('audit_log').where('target_id', key.id).orderBy('id').select('action', 'changes', 'credential_id'),
    );
    const [minted, changes] = ['api-key.mint-tokens', { tokens: 3, subjects: ['ann', 'bob'] }];
    expect(rows).toEqual([
      { action: minted, changes, credential_id: key.id },
      { action: 'api-key.revoke-tokens', changes: { subject: 'bob' }, credential_id: key.id },
    ]);
  });
});

describe('signing keys', () => {
  const stored = () =>
    site.sql((tx) =>
      tx('token_signing_keys')
        .orderBy('created_at')
        .select<{ kid: string; private_key: string | null; replaced_at: Date | null }[]>('*'),
    );
  const age = (days: number) =>
    site.sql((tx) =>
      tx('token_signing_keys').update({ created_at: tx.raw('now() - make_interval(days => ?)', [days]) }),
    );
  const readKid = async () => {
    const key = await site.key();
    return String(decoded(await oneToken(site, key, { scopes: {} })).header['kid']);
  };

  it('are made once for requests at the same time, sealed, and replaced after 30 days', async () => {
    const key = await makeKey(site.ctx, (await makeOrganization(site.ctx)).id);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => site.mint(key.secret, key.id, scoped({}))),
    );
    expect(new Set(answers.map(({ body }) => decoded(body.tokens[0].token).header['kid'])).size).toBe(1);
    const first = await readKid();
    await age(29);
    expect(await readKid()).toBe(first);
    await age(31);
    const second = await readKid();
    expect(second).not.toBe(first);
    const rows = await stored();
    expect(rows.map((row) => [row.kid, row.private_key !== null, row.replaced_at !== null])).toEqual([
      [first, false, true],
      [second, true, false],
    ]);
    expect(rows.at(-1)?.private_key).toMatch(/^test\./);
  });

  it('are replaced when the encryption key of the private key is lost', async () => {
    const ctx = { ...site.ctx, organizationId: site.organization.id };
    const before = await site.sql((tx) => getTokenSigner(tx, ctx));
    const keyring = createKeyring([{ id: 'other', bytes: randomBytes(32) }]);
    const after = await site.sql((tx) => getTokenSigner(tx, { ...ctx, keyring }));
    expect(after.kid).not.toBe(before.kid);
    await site.sql((tx) => tx('token_signing_keys').delete());
  });

  it('sign a token of the longest length that requests accept', async () => {
    const ctx = { ...site.ctx, organizationId: site.organization.id };
    const signer = await site.sql((tx) => getTokenSigner(tx, ctx));
    const key = await site.key();
    const fitting = await site.mint(key.secret, key.id, scoped(hundred(32)));
    expect(fitting.status).toBe(201);
    const token: string = fitting.body.tokens[0].token;
    expect([token.length > 5_000, token.length <= 6_000]).toEqual([true, true]);
    expect((await site.get(token, '/v1/invoices')).status).toBe(200);
    expect(signToken(site.ctx, signer, decoded(token).claims as never).length).toBe(token.length);
  });
});
