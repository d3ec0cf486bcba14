// Tokens on the public interface: what they read, what invalid ones are answered, and when valid ones end.
// Narrowed keys, entity tags, and the management interface: test/access.
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { createId } from '../../../src/core/id.ts';
import { createLog } from '../../../src/core/log.ts';
import { getTokenSigner } from '../../../src/identity/record-token.store.ts';
import { signToken, type TokenClaims } from '../../../src/identity/record-token.ts';
import { createApi } from '../../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createCaller, listIds } from '../fixture.ts';
import { decoded, idsOfCustomer, ofCustomer, oneToken, openTokenSite } from './tokens-site.ts';

const site = useStarted(() => {
  const clock = {
    now: () => new Date(systemClock.now().getTime() + passedMs),
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
  };
  return openTokenSite({
    clock,
    log: ({ ctx }) => ({
      ...ctx,
      log: createLog('trace', { write: (line: string) => void lines.push(line) }),
    }),
  });
});
let passedMs = 0;
const lines: string[] = [];
/** More than the time after which the death of a token is noticed. */
const noticedMs = 1_000;
const pass = (ms: number): void => {
  passedMs += ms;
};

type Key = { id: string; secret: string };
const readStatus = async (credential: string, path = '/v1/invoices'): Promise<number> =>
  (await site.get(credential, path)).status;
const idsFor = async (credential: string): Promise<string[]> => {
  const answer = await site.get(credential, '/v1/invoices');
  expect(answer.status, answer.text).toBe(200);
  return listIds(answer);
};
/** The answer within a second after a change, and the answer to a credential that isn't known yet. */
const expectDead = async (token: string): Promise<void> => {
  pass(noticedMs);
  expect(await readStatus(token)).toBe(401);
};

/** The last of the 86 characters of a signature has 4 bits that decoders ignore. */
function otherSpelling(token: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + digits[digits.indexOf(token.slice(-1)) ^ 1];
}

/** The order of the curve P-256 (SEC 2, 2.4.2). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const isLow = (s: bigint): boolean => s <= order / 2n;
const secondHalf = (signature: string): bigint =>
  BigInt(`0x${Buffer.from(signature, 'base64url').toString('hex').slice(64)}`);
/** Every signature is valid with `order - s` in place of its second number `s` as well. */
function withOtherNumber(signature: string): string {
  const other = (order - secondHalf(signature)).toString(16).padStart(64, '0');
  return Buffer.from(
    Buffer.from(signature, 'base64url').toString('hex').slice(0, 64) + other,
    'hex',
  ).toString('base64url');
}
function computeSignature(text: string, key: KeyObject): string {
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString(
    'base64url',
  );
  return isLow(secondHalf(signature)) ? signature : withOtherNumber(signature);
}

describe('a token', () => {
  it('reads what its scopes leave of what its key reads, with the tenant header', async () => {
    const key = await site.key();
    const ann = await oneToken(site, key, { subject: 'ann', scopes: ofCustomer('ann') });
    const both = await oneToken(site, key, { scopes: ofCustomer('ann', 'bob') });
    const whole = await oneToken(site, key, { scopes: {} });
    expect([await idsFor(ann), await idsFor(both), await idsFor(whole)]).toEqual([
      idsOfCustomer('ann'),
      [...idsOfCustomer('ann'), ...idsOfCustomer('bob')].sort(),
      ['1', '2', '3', '4', '5', '6'],
    ]);
    const [foreign] = idsOfCustomer('bob');
    expect([
      await readStatus(ann, '/v1/invoices/1'),
      await readStatus(ann, `/v1/invoices/${foreign}`),
    ]).toEqual([200, 404]);
    const other = await makeOrganization(site.ctx);
    for (const [path, headers, code] of [
      ['/v1/bills', {}, 'resource_out_of_scope'],
      ['/v1/invoices', { 'x-tenant-id': other.id }, 'tenant_mismatch'],
      ['/v1/invoices', { 'x-tenant-id': '' }, 'tenant_missing'],
      ['/v1/invoices', { 'x-tenant-id': createId() }, 'tenant_mismatch'],
    ] as const)
      expect((await site.get(ann, path, headers)).body.error.details[0].code).toBe(code);
  });

  it('reads no drafts and, of descriptions, those of its versions', async () => {
    const key = await site.key({ permissions: ['write'] });
    expect(await readStatus(key.secret, '/openapi/v1?draft=true')).toBe(404);
    const token = await oneToken(site, key, { scopes: {} });
    expect(await readStatus(token, '/openapi/v1?draft=true')).toBe(403);
    expect(await readStatus(token, '/openapi/v1')).toBe(200);
  });

  it('reads masked fields as they are only while its key does, and only if it was minted to', async () => {
    const key = await site.key();
    const unmask = (unmasked: boolean) =>
      site.sql((tx) => tx('api_keys').where('id', key.id).update({ scope_unmasked: unmasked }));
    await unmask(true);
    const [masked, plain] = [
      await oneToken(site, key, { scopes: {} }),
      await oneToken(site, key, { scopes: { unmasked: true } }),
    ];
    const nameFor = async (token: string) => (await site.get(token, '/v1/invoices/1')).body.data.customerName;
    expect([await nameFor(masked), await nameFor(plain)]).toEqual(['**** ann', 'Customer ann']);
    await unmask(false);
    pass(noticedMs);
    expect(await nameFor(plain)).toBe('**** ann');
  });

  it('is counted by its subject', async () => {
    const key = await site.key();
    const ann = await oneToken(site, key, { subject: 'ann', scopes: ofCustomer('ann') });
    await idsFor(ann);
    await site.get(ann, '/v1/bills');
    await idsFor(await oneToken(site, key, { scopes: {} }));
    await idsFor(key.secret);
    await site.usage.flush();
    const rows = await site.sql((tx) =>
      tx('api_key_usage').where('api_key_id', key.id).orderBy(['subject', 'resource']),
    );
    expect(rows).toMatchObject([
      { subject: '', resource: 'invoices', succeeded: '2', refused: '0' },
      { subject: 'ann', resource: 'bills', succeeded: '0', refused: '1' },
      { subject: 'ann', resource: 'invoices', succeeded: '1', refused: '0' },
    ]);
  });
});

describe('401 with the same text', () => {
  let key: Key;
  let token: string;
  let claims: TokenClaims;
  let signer: { kid: string; key: KeyObject };
  let refusal: unknown;
  beforeAll(async () => {
    key = await site.key();
    token = await oneToken(site, key, { subject: 'ann', scopes: ofCustomer('ann') });
    claims = decoded(token).claims as TokenClaims;
    signer = await site.sql((tx) =>
      getTokenSigner(tx, { ...site.ctx, organizationId: site.organization.id }),
    );
    refusal = withoutId((await site.get(`psk_${'a'.repeat(49)}`, '/v1/invoices')).body);
  });
  const withoutId = ({ error: { requestId: _, ...error } }: { error: Record<string, unknown> }) => error;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const own = () => ({ alg: 'ES256', typ: 'pst+jwt', kid: signer.kid });
  const made = (header: object, changed: object, by: KeyObject = signer.key): string => {
    const signed = `${encode(header)}.${encode({ ...claims, ...changed })}`;
    return `pst_${signed}.${computeSignature(signed, by)}`;
  };
  const expectRefused = async (tokens: Record<string, string>): Promise<void> => {
    for (const [name, changed] of Object.entries(tokens)) {
      const answer = await site.get(changed, '/v1/invoices');
      const seen = [answer.status, withoutId(answer.body), answer.headers['www-authenticate']];
      expect([name, ...seen]).toEqual([name, 401, refusal, 'Bearer']);
    }
  };

  it('whereas a token made in the same way works', async () => {
    expect(await idsFor(made(own(), {}))).toEqual(idsOfCustomer('ann'));
    expect(await idsFor(signToken(site.ctx, signer, claims))).toEqual(idsOfCustomer('ann'));
  });

  it('has one signature: the service signs with the lower of the two numbers', async () => {
    const wanted = Array.from({ length: 30 }, () => ({ scopes: {} }));
    const minted = (await site.mint(key.secret, key.id, wanted)).body.tokens;
    const seconds = minted.map(({ token: text }: { token: string }) => secondHalf(text.split('.')[2] ?? ''));
    expect(seconds.filter(isLow)).toHaveLength(30);
  });

  it('for another header', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicKey = createPublicKey(signer.key).export({ type: 'spki', format: 'pem' });
    const signWithHmac = (header: object) => {
      const signed = `${encode(header)}.${encode(claims)}`;
      return `pst_${signed}.${createHmac('sha256', publicKey).update(signed).digest('base64url')}`;
    };
    await expectRefused({
      'another key under our kid': made(own(), {}, privateKey),
      'another key for all records': made(own(), { scopes: { ...claims.scopes, rows: null } }, privateKey),
      'an unknown kid': made({ ...own(), kid: createId() }, {}, privateKey),
      'no kid': made({ alg: 'ES256', typ: 'pst+jwt' }, {}),
      'a kid that is no id': made({ ...own(), kid: "' or true --" }, {}),
      'a URL as kid': made({ ...own(), kid: 'https://attacker.example/jwks' }, {}),
      'a key in the header': made({ ...own(), jwk: privateKey.export({ format: 'jwk' }) }, {}, privateKey),
      'alg none': `pst_${encode({ ...own(), alg: 'none' })}.${encode(claims)}.`,
      'alg HS256 with the public key': signWithHmac({ ...own(), alg: 'HS256' }),
      'an HMAC under ES256': signWithHmac(own()),
      'alg ES384': made({ ...own(), alg: 'ES384' }, {}),
      'another typ': made({ ...own(), typ: 'JWT' }, {}),
      'no typ': made({ alg: 'ES256', kid: signer.kid }, {}),
      crit: made({ ...own(), crit: ['exp'] }, {}),
      'the members in another order': made({ typ: 'pst+jwt', alg: 'ES256', kid: signer.kid }, {}),
      'padded base64': `pst_${token.slice(4).replace('.', '=.')}`,
    });
  });

  it('for other claims, an altered or a missing signature', async () => {
    const [header, payload, signature] = token.slice(4).split('.');
    const unsigned = (changed: object) => `pst_${header}.${encode({ ...claims, ...changed })}.${signature}`;
    const { exp: _exp, ...endless } = claims;
    const signedEndless = `${encode(own())}.${encode(endless)}`;
    await expectRefused({
      'another aud': made(own(), { aud: 'portal' }),
      'several aud': made(own(), { aud: [claims.sub, 'urn:portal-service:records'] }),
      'another iss': made(own(), { iss: 'https://attacker.example' }),
      'no exp': `pst_${signedEndless}.${computeSignature(signedEndless, signer.key)}`,
      'exp in the past': made(own(), { exp: claims.iat - 1 }),
      'exp as text': made(own(), { exp: String(claims.exp) }),
      'an unknown claim': made(own(), { limit: 1 }),
      'an unknown kind of scope': made(own(), { scopes: { ...claims.scopes, regions: [] } }),
      'scopes that the signature does not cover': unsigned({ scopes: { ...claims.scopes, rows: null } }),
      'another subject': unsigned({ sub: 'bob' }),
      'no signature': `pst_${header}.${payload}.`,
      'a signature in DER': `pst_${header}.${payload}.${sign('sha256', Buffer.from(`${header}.${payload}`), signer.key).toString('base64url')}`,
      'an altered signature': `${token.slice(0, -4)}AAAA`,
      'another spelling of the signature': otherSpelling(token),
      'the other signature that its numbers allow': `pst_${header}.${payload}.${withOtherNumber(signature ?? '')}`,
      'padding after the signature': `${token}==`,
      'a claim that ends in other ignored bits': otherSpelling(`pst_${header}.${payload}`) + `.${signature}`,
      'another part after it': `${token}.x`,
      'another mark': made(own(), { mark: 'A'.repeat(43) }),
      'an unknown key': made(own(), { key: createId() }),
      'a foreign person': made(own(), { mintedBy: createId() }),
      'the prefix alone': 'pst_',
      'the prefix twice': `pst_${token}`,
      'the prefix in capitals': token.replace('pst_', 'PST_'),
      'no prefix': token.slice(4),
      'the prefix of a key': token.replace('pst_', 'psk_'),
      'more characters than any token has': `pst_${'a'.repeat(8_000)}`,
    });
  });

  it("for the signing key of another organization, and for another organization's key", async () => {
    const other = await makeOrganization(site.ctx);
    const foreignKey = await makeKey(site.ctx, other.id);
    const minted = (await site.mint(foreignKey.secret, foreignKey.id, [{ scopes: {} }])).body.tokens[0].token;
    const foreign = decoded(minted).claims as TokenClaims;
    const theirs = createCaller(site.app, { secret: minted, organizationId: other.id });
    expect((await theirs('/v1/invoices')).status).toBe(404);
    await expectRefused({
      "another organization's key, signed by us": made(own(), { key: foreign.key, mark: foreign.mark }),
      'the same with its organization': made(own(), {
        key: foreign.key,
        mark: foreign.mark,
        organization: other.id,
      }),
      'our key in its organization': made(own(), { organization: other.id }),
    });
  });

  it('after its signing key was replaced an hour ago, and at once when that is deleted', async () => {
    const replace = (ago: string) =>
      site.sql((tx) =>
        tx('token_signing_keys').update({
          replaced_at: tx.raw(`clock_timestamp() - interval '${ago}'`),
          private_key: null,
        }),
      );
    await replace('59 minutes');
    pass(noticedMs);
    expect(await readStatus(token)).toBe(200);
    await replace('61 minutes');
    pass(2 * noticedMs);
    await expectRefused({ 'signed with a replaced key': token });
    const next = await oneToken(site, key, { scopes: {} });
    expect(await readStatus(next)).toBe(200);
    await site.sql((tx) => tx('token_signing_keys').delete());
    pass(2 * noticedMs);
    await expectRefused({ 'signed with a deleted key': next });
  });
});

describe('a token ends', () => {
  it('at its expiry, also when it was just used', async () => {
    const token = await oneToken(site, await site.key(), { expiresInSeconds: 600, scopes: {} });
    const ends = () => Number(decoded(token).claims['exp']) * 1_000;
    pass(ends() - systemClock.now().getTime() - passedMs - 300);
    expect(await readStatus(token)).toBe(200);
    pass(300);
    expect(await readStatus(token)).toBe(401);
  });

  it('within a second after its key is revoked or expires', async () => {
    for (const change of [{ revoked_at: 'now()' }, { expires_at: 'now()' }]) {
      const key = await site.key();
      const token = await oneToken(site, key, { scopes: {} });
      expect(await readStatus(token)).toBe(200);
      await site.sql((tx) => tx('api_keys').where('id', key.id).update(change));
      await expectDead(token);
    }
  });

  it('with the secret that minted it: at the end of the grace period, or at once without one', async () => {
    const key = await site.key();
    const old = await oneToken(site, key, { scopes: {} });
    const mintAsOwner = async (): Promise<string> =>
      (await site.owner('post', `/api-keys/${key.id}/tokens`, { tokens: [{ scopes: {} }] })).body.tokens[0]
        .token;
    const ownersOld = await mintAsOwner();
    const grace = { gracePeriodSeconds: 86_400 };
    const { secret } = (await site.owner('post', `/api-keys/${key.id}/rotate`, grace)).body;
    const renewed = await oneToken(site, { ...key, secret }, { scopes: {} });
    const late = await oneToken(site, key, { scopes: {} });
    const ownersNew = await mintAsOwner();
    pass(noticedMs);
    for (const token of [old, ownersOld, renewed, late, ownersNew]) expect(await readStatus(token)).toBe(200);
    await site.sql((tx) => tx('api_keys').where('id', key.id).update({ previous_expires_at: 'now()' }));
    for (const token of [old, ownersOld, late]) await expectDead(token);
    for (const token of [renewed, ownersNew]) expect(await readStatus(token)).toBe(200);
    await site.owner('post', `/api-keys/${key.id}/rotate`, {});
    for (const token of [renewed, ownersNew]) await expectDead(token);
  });

  it('with the membership of the person who minted it, but not with that of the creator of its key', async () => {
    const key = await site.key();
    const clerk = await makeMember(site.ctx, site.organization.id, ['api-key:update', 'record:read']);
    const { headers } = await makeSession(site.ctx, clerk.id, site.organization.id);
    const api = createApi(site.app, null);
    const answer = await api('post', `/api-keys/${key.id}/tokens`, { tokens: [{ scopes: {} }] }, headers);
    const theirs: string = answer.body.tokens[0].token;
    const created = await site.key({ createdBy: clerk.id });
    const own = await oneToken(site, created, { scopes: {} });
    expect([await readStatus(theirs), await readStatus(own)]).toEqual([200, 200]);
    await site.sql((tx) => tx('memberships').where('user_id', clerk.id).delete());
    await expectDead(theirs);
    expect(await readStatus(own)).toBe(200);
  });

  it('within a second after the tokens of its subject are revoked; later ones and other subjects work', async () => {
    const key = await site.key();
    const mintFor = (subject?: string) => oneToken(site, key, { subject, scopes: {} });
    const [ann, twin, bob, unnamed] = [
      await mintFor('ann'),
      await mintFor('ann'),
      await mintFor('bob'),
      await mintFor(),
    ];
    const other = await site.key();
    const elsewhere = await oneToken(site, other, { subject: 'ann', scopes: {} });
    for (const token of [ann, twin, bob, unnamed, elsewhere]) expect(await readStatus(token)).toBe(200);
    const revokeAnn = () =>
      createApi(site.app, key.secret)('delete', `/api-keys/${key.id}/tokens?subject=ann`);
    expect((await revokeAnn()).status).toBe(204);
    await expectDead(ann);
    await expectDead(twin);
    for (const token of [bob, unnamed, elsewhere, await mintFor('ann')])
      expect(await readStatus(token)).toBe(200);
    await revokeAnn();
    await expectDead(await mintFor('bob').then(() => ann));
  });
});

describe('the log', () => {
  it('has no token, wherever the caller puts it, and names its key', async () => {
    const key = await site.key();
    const token = await oneToken(site, key, { subject: 'ann', scopes: {} });
    const before = lines.length;
    await site.get(token, `/v1/invoices?token=${token}&x=${token}`);
    await site.get(token, `/v1/${token.slice(0, 60)}/${token}`, { 'x-request-id': token.slice(0, 40) });
    await site.get(token, '/v1/invoices', { cookie: `portal_session=${token}`, referer: token });
    await createApi(site.app, token)('get', `/whoami?x=${token}`);
    site.ctx.log.error(
      { err: new Error(`it was ${token}`), text: `Bearer ${token}`, encoded: encodeURIComponent(token) },
      token,
    );
    const logged = lines.slice(before).join('');
    expect(logged).toContain(`"credential":{"kind":"token","id":"${key.id}"}`);
    const [, payload = '', signature = ''] = token.split('.');
    for (const part of [token.slice(0, 40), payload.slice(0, 40), payload.slice(-40), signature])
      expect(logged).not.toContain(part);
    expect(logged).not.toMatch(/pst_/);
  });
});
