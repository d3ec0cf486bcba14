import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createKeyring } from '../../../src/core/secrets/keyring.ts';
import { type Answer, type Api, createApi, pluck, refusal } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ erp: {}, each: true });

const secrets = {
  consumerSecret: 'c0nsumer-secret-of-some-length',
  tokenSecret: 't0ken-secret-of-some-length-WXYZ',
};
const tba = (more: object = {}, connection: object = {}) => ({
  accountId: '1234567_SB1',
  authentication: { method: 'tba', consumerKey: 'ck', tokenId: 'ti', ...more },
  ...connection,
});
const put = (body: object) => org.api('put', '/netsuite/connection', body);
const read = () => org.api('get', '/netsuite/connection');
const remove = (query = '') => org.api('delete', `/netsuite/connection${query}`);
const test = async (api = org.api): Promise<Answer['body']> =>
  (await api('post', '/netsuite/connection/test')).body;
const makeCertificate = async () => (await org.api('post', '/netsuite/connection/certificate')).body;
const refresh = () => org.api('post', '/netsuite/metadata/refresh');
/** Calls an application with another context. */
const through = (change: Partial<Ctx>): Api =>
  createApi(createApp({ ...org.ctx, ...change }), org.owner.secret);
/** Pretends that a sync has stored records. */
const storeRecords = (count: number) =>
  org.ctx.db.data.query(
    `insert into wh_${org.id.replaceAll('-', '')}.record_state (record_type, id_type, generation, row_count, active_table)
     values ('invoice', 'integer', 1, $1, 'invoice_1') on conflict (record_type) do update set row_count = excluded.row_count`,
    [count],
  );

describe('PUT /netsuite/connection', () => {
  it('stores secrets and never returns them', async () => {
    const answer = await put(tba(secrets));
    expect(answer.body).toEqual({
      accountId: '1234567_SB1',
      authentication: { method: 'tba', consumerKey: 'ck', tokenId: 'ti' },
      ...{ baseUrl: null, hasCredentials: true, credentialHint: 'WXYZ', certificates: [] },
      ...{ status: 'untested', lastTestedAt: null, lastError: null },
    });
    expect((await read()).body).toEqual(answer.body);
    const { rows } = await org.admin.raw(
      "select (select string_agg(c::text, '') from erp_connections c) || (select string_agg(a::text, '') from audit_log a) as text",
    );
    for (const secret of Object.values(secrets)) expect(rows[0].text).not.toContain(secret);
  });

  it('keeps the stored secrets when none are given, and requires both together', async () => {
    const needed = [422, 'secrets_needed'];
    expect(await refusal(put(tba()))).toEqual(needed);
    await put(tba(secrets));
    expect((await put(tba({ tokenId: 'another' }))).body).toMatchObject({
      ...{ hasCredentials: true, credentialHint: 'WXYZ', authentication: { tokenId: 'another' } },
    });
    for (const part of [{ tokenSecret: 'new' }, { consumerSecret: 'new' }])
      expect(await refusal(put(tba(part)))).toEqual(needed);
    expect((await read()).body.credentialHint).toBe('WXYZ');
    const short = await put(tba({ consumerSecret: 'short', tokenSecret: 'short' }));
    expect(short.body.credentialHint).toBeNull();
  });

  it("accepts the account's own address and hosts that the operator allows, but no address of another account", async () => {
    const own = await put(tba(secrets, { baseUrl: ' https://1234567-SB1.suitetalk.api.netsuite.com/\t' }));
    expect(own.body.baseUrl).toBe('https://1234567-sb1.suitetalk.api.netsuite.com');
    expect((await put(tba(secrets, { baseUrl: org.erp.account.url }))).status).toBe(200);
    const foreign = put(tba(secrets, { baseUrl: 'https://7654321.suitetalk.api.netsuite.com' }));
    expect(await refusal(foreign)).toEqual([422, 'other_account']);
  });

  it('422 for another account while records are stored, even after the connection was deleted', async () => {
    await put(tba(secrets));
    await storeRecords(3);
    const other = tba(secrets, { accountId: '7654321' });
    const refused = [422, 'records_of_another_account'];
    expect(await refusal(put(other))).toEqual(refused);
    expect((await put(tba(secrets, { accountId: '1234567-sb1' }))).status).toBe(200);
    expect((await remove()).status).toBe(204);
    expect(await refusal(put(other))).toEqual(refused);
    expect((await remove(`?purge=${org.slug}`)).status).toBe(204);
    expect((await put(other)).status).toBe(200);
  });

  it('422 for another account while a run may still add records', async () => {
    await org.erp.connect(org.api);
    await refresh();
    const config = await org.api('post', '/sync-configs', { name: 'Invoices', recordType: 'invoice' });
    const run = await org.api('post', `/sync-configs/${config.body.id}/trigger`, {});
    const other = tba(secrets, { accountId: '7654321' });
    expect(await refusal(put(other))).toEqual([422, 'run_open']);
    await org.api('post', `/sync-runs/${run.body.id}/cancel`);
    expect((await put(other)).status).toBe(200);
  });
});

it('DELETE /netsuite/connection pauses syncs and keeps the records; purge needs the slug', async () => {
  await org.erp.connect(org.api);
  await refresh();
  const invoices = { name: 'Invoices', recordType: 'invoice', schedule: '0 * * * *' };
  const { id } = (await org.api('post', '/sync-configs', invoices)).body;
  const readConfig = async () => (await org.api('get', `/sync-configs/${id}`)).body;
  await storeRecords(3);
  expect(await refusal(remove('?purge=yes'))).toEqual([400, 'confirmation_mismatch']);
  expect((await remove()).status).toBe(204);
  expect((await read()).status).toBe(404);
  const pausedReason = { code: 'NO_CONNECTION' };
  expect(await readConfig()).toMatchObject({ status: 'paused', nextRunAt: null, pausedReason });
  expect((await org.api('get', '/whoami')).body.metrics.storage.records).toBe(3);
  expect((await remove()).status).toBe(404);
  for (const status of [204, 404]) expect((await remove(`?purge=${org.slug}`)).status).toBe(status);
  await org.erp.connect(org.api);
  expect((await readConfig()).status).toBe('active');
});

it('certificates are used after their id was set, and rotate through two slots', async () => {
  const authentication = { method: 'oauth2', clientId: 'c', certificateId: null };
  expect((await put({ accountId, authentication })).body.hasCredentials).toBe(false);
  expect(await refusal(org.api('post', '/netsuite/connection/test'))).toEqual([422, 'no_credentials']);
  const { clientId, certificateId } = await org.erp.connect(org.api);
  expect(await test()).toMatchObject({ ok: true, account: accountId, problems: [] });
  expect((await read()).body).toMatchObject({ status: 'connected', hasCredentials: true });
  const next = await makeCertificate();
  expect([next.slot, next.certificatePem]).toEqual([2, expect.stringContaining('BEGIN CERTIFICATE')]);
  expect(JSON.stringify(next)).not.toContain('PRIVATE');
  expect((await test()).ok).toBe(true);
  const uploaded = await org.erp.account.uploadCertificate(clientId, next.certificatePem);
  const connection = (id: string | null) => ({
    ...{ accountId, baseUrl: org.erp.account.url },
    authentication: { method: 'oauth2', clientId, certificateId: id },
  });
  const rotated = await put(connection(uploaded.certificateId));
  expect(pluck(rotated.body.certificates, 'active')).toEqual([false, true]);
  await org.erp.account.revokeCertificate(certificateId);
  org.erp.account.revokeTokens();
  expect((await test()).ok).toBe(true);
  expect((await makeCertificate()).slot).toBe(1);
  expect((await put(connection(null))).body.hasCredentials).toBe(true);
});

it('POST /netsuite/connection/test reports a revoked certificate, an inactive role, an unreachable host and an ERP that hangs, each with a fix', async () => {
  const { certificateId } = await org.erp.connect(org.api);
  const problems = async (api = org.api) => pluck((await test(api)).problems, 'code');
  const { fetch: send } = org.ctx;
  org.erp.account.injectFault({ path: /suiteql/, times: 9, status: 503, body: 'maintenance' });
  expect(await test()).toMatchObject({ ok: false });
  for (let left = 0; left < 9; left += 1)
    await fetch(`${org.erp.account.url}/services/rest/query/v1/suiteql`);
  // Only this request, not others sent at the same time.
  org.erp.account.injectFault({ path: /suiteql.*slow/, times: 1, status: 200, delayMs: 4_000 });
  let isFirst = true;
  const impatient: typeof send = (url, request) => {
    if (!isFirst || !url.includes('suiteql')) return send(url, request);
    isFirst = false;
    return send(`${url}${url.includes('?') ? '&' : '?'}slow=1`, { ...request, timeoutMs: 1_000 });
  };
  expect(await problems(through({ fetch: impatient }))).toEqual(['TIMEOUT']);
  await org.erp.account.revokeCertificate(certificateId);
  expect(await problems()).toEqual(['CERTIFICATE_UNKNOWN']);
  const unreachable: typeof send = (url, request) => send(url.replace(org.erp.host, '127.0.0.1:1'), request);
  expect(await problems(through({ fetch: unreachable }))).toEqual(['HOST_UNREACHABLE']);
});

describe('the connection test reports', () => {
  const problemReport = (code: string, fix: RegExp) => ({
    ok: false,
    problems: [{ code, message: expect.any(String), fix: expect.stringMatching(fix) }],
  });
  const byToken = async (change: object = {}, account = accountId) => {
    const tokens = await org.erp.account.createTokenCredentials('Portal Service');
    const { consumerKey, consumerSecret, tokenId, tokenSecret } = { ...tokens, ...change };
    const authentication = { method: 'tba', consumerKey, consumerSecret, tokenId, tokenSecret };
    const connected = await put({ accountId: account, baseUrl: org.erp.account.url, authentication });
    expect(connected.status).toBe(200);
  };

  it('with tokens: nothing when everything is right', async () => {
    await byToken();
    expect(await test()).toMatchObject({ ok: true, problems: [] });
  });

  it('with tokens: a wrong consumer key, token, secret or account, for which NetSuite sends the same response', async () => {
    for (const change of [
      { consumerKey: 'mistyped' },
      { tokenId: 'mistyped' },
      { tokenSecret: 'mistyped', consumerSecret: 'mistyped' },
    ]) {
      await byToken(change);
      expect(await test()).toMatchObject(
        problemReport('INVALID_LOGIN', /account id, the consumer key, the token id and both secrets/),
      );
    }
    await byToken({}, 'TSTDRV7654321');
    expect(await test()).toMatchObject(problemReport('INVALID_LOGIN', /account id/));
  });

  it('with a certificate: a wrong client id', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    const authentication = { method: 'oauth2', clientId: 'mistyped', certificateId };
    await put({ accountId, baseUrl: org.erp.account.url, authentication });
    expect(await test()).toMatchObject(problemReport('CLIENT_UNKNOWN', /client id \(consumer key\)/));
  });

  it('with a certificate: an expired one', async () => {
    await org.erp.connect(org.api);
    await org.sql((tx) => tx('erp_certificates').update({ not_after: new Date('2026-01-01T00:00:00Z') }));
    org.erp.account.setAuthenticationTime(new Date('2031-01-01T00:00:00Z')); // where it has ended as well
    onTestFinished(() => org.erp.account.setAuthenticationTime(null));
    expect(await test()).toMatchObject(problemReport('CERTIFICATE_EXPIRED', /Create a new certificate/));
  });

  it('a wrong clock of this machine, even when the login fails because of it', async () => {
    await org.erp.connect(org.api);
    const clock = { ...org.ctx.clock, now: () => new Date(Date.now() + 600_000) };
    const { ok, problems } = await test(through({ clock }));
    expect(ok).toBe(false);
    expect(problems[0]).toMatchObject({
      code: 'CLOCK_SKEW',
      fix: expect.stringContaining('Synchronize the clock'),
    });
  });

  it('a role that sees only some of the records, or none', async () => {
    await org.erp.connect(org.api);
    const tables = ['customer', 'item', 'transaction', 'vendor', 'employee', 'contact'];
    onTestFinished(() => {
      for (const table of tables) org.erp.account.setVisible(table, true);
    });
    org.erp.account.setVisible('item', false);
    const hidden = { code: 'RECORD_TYPE_HIDDEN', fix: expect.stringContaining('"View"') };
    expect(await test()).toMatchObject({ ok: true, problems: [hidden] });
    expect((await read()).body).toMatchObject({ status: 'connected', lastError: null });
    for (const table of tables) org.erp.account.setVisible(table, false);
    expect(await test()).toMatchObject(problemReport('PERMISSION_MISSING', /SuiteAnalytics Workbook/));
    expect((await read()).body).toMatchObject({ status: 'failed', lastError: expect.any(String) });
  });

  it('a role that may not use the REST API', async () => {
    await org.erp.connect(org.api);
    const body = { 'o:errorDetails': [{ detail: 'No.', 'o:errorCode': 'X' }] };
    org.erp.account.injectFault({ path: /serverTime/, times: 1, status: 403, body });
    expect(await test()).toMatchObject(problemReport('PERMISSION_MISSING', /REST Web Services/));
  });
});

it('stored credentials: 422 when their encryption key is no longer configured', async () => {
  await org.erp.connect(org.api);
  const other = through({ keyring: createKeyring([{ id: 'test', bytes: randomBytes(32) }]) });
  for (const path of ['/netsuite/connection/test', '/netsuite/metadata/refresh'])
    expect(await refusal(other('post', path))).toEqual([422, 'credentials_unreadable']);
});

describe('the metadata', () => {
  it('lists record types, returns one, and keeps the last successful result while the ERP is unavailable', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    const { status, body } = await refresh();
    expect([status, body.lastError]).toEqual([200, null]);
    const named = (items: Answer['body'], name: string) =>
      items.find((item: Answer['body']) => item.name === name);
    const [table, fieldCount] = [expect.any(String), expect.any(Number)];
    expect(named(body.data, 'invoice')).toMatchObject({ name: 'invoice', table, fieldCount });
    const { fields } = (await org.api('get', '/netsuite/metadata/invoice')).body;
    expect(named(fields, 'tranid')).toMatchObject({ type: 'text', syncable: true, reason: null });
    for (const field of fields) if (!field.syncable) expect(field.reason).toEqual(expect.any(String));
    expect((await org.api('get', '/netsuite/metadata/nonsense')).status).toBe(404);
    await org.erp.account.revokeCertificate(certificateId);
    org.erp.account.revokeTokens();
    const kept = await refresh();
    expect([kept.status, kept.body.data]).toEqual([200, body.data]);
    expect(kept.body.lastError).toEqual(expect.any(String));
    expect((await org.api('get', '/netsuite/metadata')).body).toEqual(kept.body);
  });

  it('422 when the credentials are refused and 503 when the ERP is unavailable, without an earlier result', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    org.erp.account.injectFault({ path: /./, times: 50, status: 503, body: 'maintenance' });
    expect(await refresh()).toMatchObject({
      status: 503,
      body: { error: { code: 'INTERNAL_ERROR' } },
      headers: { 'retry-after': '30' },
    });
    for (let left = 0; left < 50; left += 1) await fetch(org.erp.account.url);
    await org.erp.account.revokeCertificate(certificateId);
    expect(await refusal(refresh())).toEqual([422, 'CERTIFICATE_UNKNOWN']);
  });
});
