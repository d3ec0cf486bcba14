import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createKeyring } from '../../../src/core/keyring.ts';
import { type Api, createApi, listCodes, pluck, refusal } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import { makeKey } from '../../setup/organization.ts';
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
/** Pretends that a sync has stored records. */
const storeRecords = (count: number) =>
  org.ctx.db.data.query(
    `insert into wh_${org.id.replaceAll('-', '')}.record_state (record_type, id_type, generation, row_count, active_table)
     values ('invoice', 'integer', 1, $1, 'invoice_1') on conflict (record_type) do update set row_count = excluded.row_count`,
    [count],
  );
const problemCodes = (answer: Awaited<ReturnType<Api>>): string[] => pluck(answer.body.problems, 'code');

describe('PUT /netsuite/connection', () => {
  it('stores secrets and never returns them', async () => {
    const answer = await put(tba(secrets));
    expect(answer.body).toEqual({
      accountId: '1234567_SB1',
      baseUrl: null,
      authentication: { method: 'tba', consumerKey: 'ck', tokenId: 'ti' },
      hasCredentials: true,
      credentialHint: 'WXYZ',
      certificates: [],
      status: 'untested',
      lastTestedAt: null,
      lastError: null,
    });
    expect((await org.api('get', '/netsuite/connection')).body).toEqual(answer.body);
    const { rows } = await org.sql((tx) =>
      tx.raw(
        "select (select string_agg(c::text, '') from erp_connections c) || (select string_agg(a::text, '') from audit_log a) as text",
      ),
    );
    for (const secret of Object.values(secrets)) expect(rows[0].text).not.toContain(secret);
  });

  it('keeps the stored secrets when none are given, and requires both together', async () => {
    expect(listCodes(await put(tba()))).toEqual(['secrets_needed']);
    await put(tba(secrets));
    const kept = await put(tba({ tokenId: 'another' }));
    expect(kept.body).toMatchObject({
      hasCredentials: true,
      credentialHint: 'WXYZ',
      authentication: { tokenId: 'another' },
    });
    for (const part of [{ tokenSecret: 'new' }, { consumerSecret: 'new' }])
      expect(listCodes(await put(tba(part)))).toEqual(['secrets_needed']);
    expect((await org.api('get', '/netsuite/connection')).body.credentialHint).toBe('WXYZ');
    expect(
      (await put(tba({ consumerSecret: 'short', tokenSecret: 'short' }))).body.credentialHint,
    ).toBeNull();
  });

  it("accepts the account's own address and hosts that the operator allows, but no address of another account", async () => {
    const own = await put(tba(secrets, { baseUrl: ' https://1234567-SB1.suitetalk.api.netsuite.com/\t' }));
    expect(own.body.baseUrl).toBe('https://1234567-sb1.suitetalk.api.netsuite.com');
    expect((await put(tba(secrets, { baseUrl: org.erp.account.url }))).status).toBe(200);
    expect(
      listCodes(await put(tba(secrets, { baseUrl: 'https://7654321.suitetalk.api.netsuite.com' }))),
    ).toEqual(['other_account']);
  });

  it('422 for another account while records are stored, even after the connection was deleted', async () => {
    await put(tba(secrets));
    await storeRecords(3);
    const other = tba(secrets, { accountId: '7654321' });
    expect(listCodes(await put(other))).toEqual(['records_of_another_account']);
    expect((await put(tba(secrets, { accountId: '1234567-sb1' }))).status).toBe(200);
    expect((await org.api('delete', '/netsuite/connection')).status).toBe(204);
    expect(listCodes(await put(other))).toEqual(['records_of_another_account']);
    expect((await org.api('delete', `/netsuite/connection?purge=${org.slug}`)).status).toBe(204);
    expect((await put(other)).status).toBe(200);
  });

  it('422 for another account while a run may still add records', async () => {
    await org.erp.connect(org.api);
    await org.api('post', '/netsuite/metadata/refresh');
    const config = await org.api('post', '/sync-configs', { name: 'Invoices', recordType: 'invoice' });
    const run = await org.api('post', `/sync-configs/${config.body.id}/trigger`, {});
    const other = tba(secrets, { accountId: '7654321' });
    expect(listCodes(await put(other))).toEqual(['run_open']);
    await org.api('post', `/sync-runs/${run.body.id}/cancel`);
    expect((await put(other)).status).toBe(200);
  });
});

it('DELETE /netsuite/connection pauses syncs and keeps the records; purge needs the slug', async () => {
  await org.erp.connect(org.api);
  await org.api('post', '/netsuite/metadata/refresh');
  const config = await org.api('post', '/sync-configs', {
    name: 'Invoices',
    recordType: 'invoice',
    schedule: '0 * * * *',
  });
  await storeRecords(3);
  expect(await refusal(org.api('delete', '/netsuite/connection?purge=yes'))).toEqual([
    400,
    'confirmation_mismatch',
  ]);
  expect((await org.api('delete', '/netsuite/connection')).status).toBe(204);
  expect((await org.api('get', '/netsuite/connection')).status).toBe(404);
  const paused = (await org.api('get', `/sync-configs/${config.body.id}`)).body;
  expect(paused).toMatchObject({
    status: 'paused',
    nextRunAt: null,
    pausedReason: { code: 'NO_CONNECTION' },
  });
  expect((await org.api('get', '/whoami')).body.metrics.storage.records).toBe(3);
  expect((await org.api('delete', '/netsuite/connection')).status).toBe(404);
  expect((await org.api('delete', `/netsuite/connection?purge=${org.slug}`)).status).toBe(204);
  expect((await org.api('delete', `/netsuite/connection?purge=${org.slug}`)).status).toBe(404);
  await org.erp.connect(org.api);
  expect((await org.api('get', `/sync-configs/${config.body.id}`)).body.status).toBe('active');
});

it('certificates are used after their id was set, and rotate through two slots', async () => {
  const authentication = { method: 'oauth2', clientId: 'c', certificateId: null };
  expect((await put({ accountId, authentication })).body.hasCredentials).toBe(false);
  expect(listCodes(await org.api('post', '/netsuite/connection/test'))).toEqual(['no_credentials']);
  const { clientId, certificateId } = await org.erp.connect(org.api);
  expect((await org.api('post', '/netsuite/connection/test')).body).toMatchObject({
    ok: true,
    account: accountId,
    problems: [],
  });
  expect((await org.api('get', '/netsuite/connection')).body).toMatchObject({
    status: 'connected',
    hasCredentials: true,
  });
  const next = await org.api('post', '/netsuite/connection/certificate');
  expect(next.body).toMatchObject({
    slot: 2,
    certificatePem: expect.stringContaining('BEGIN CERTIFICATE'),
  });
  expect(JSON.stringify(next.body)).not.toContain('PRIVATE');
  expect((await org.api('post', '/netsuite/connection/test')).body.ok).toBe(true);
  const uploaded = await org.erp.account.uploadCertificate(clientId, next.body.certificatePem);
  const connection = (id: string | null) => ({
    accountId,
    baseUrl: org.erp.account.url,
    authentication: { method: 'oauth2', clientId, certificateId: id },
  });
  const rotated = await put(connection(uploaded.certificateId));
  expect(pluck(rotated.body.certificates, 'active')).toEqual([false, true]);
  await org.erp.account.revokeCertificate(certificateId);
  org.erp.account.revokeTokens();
  expect((await org.api('post', '/netsuite/connection/test')).body.ok).toBe(true);
  expect((await org.api('post', '/netsuite/connection/certificate')).body.slot).toBe(1);
  expect((await put(connection(null))).body.hasCredentials).toBe(true);
});

it('POST /netsuite/connection/test reports a revoked certificate, an inactive role, an unreachable host and an ERP that hangs, each with a fix', async () => {
  const { certificateId } = await org.erp.connect(org.api);
  const problems = async (api = org.api) => problemCodes(await api('post', '/netsuite/connection/test'));
  const { secret } = await makeKey(org.ctx, org.id, { permissions: ['write'] });
  const { fetch: send } = org.ctx;
  const through = (fetch: typeof send): Api => createApi(createApp({ ...org.ctx, fetch }), secret);
  org.erp.account.injectFault({ path: /suiteql/, times: 9, status: 503, body: 'maintenance' });
  expect((await org.api('post', '/netsuite/connection/test')).body).toMatchObject({ ok: false });
  for (let left = 0; left < 9; left += 1)
    await fetch(`${org.erp.account.url}/services/rest/query/v1/suiteql`);
  // Only this request, not others sent at the same time.
  org.erp.account.injectFault({ path: /suiteql.*slow/, times: 1, status: 200, delayMs: 4_000 });
  let isFirst = true;
  const impatient = through((url, request) => {
    if (!isFirst || !url.includes('suiteql')) return send(url, request);
    isFirst = false;
    return send(`${url}${url.includes('?') ? '&' : '?'}slow=1`, { ...request, timeoutMs: 1_000 });
  });
  expect(await problems(impatient)).toEqual(['TIMEOUT']);
  await org.erp.account.revokeCertificate(certificateId);
  expect(await problems()).toEqual(['CERTIFICATE_UNKNOWN']);
  const unreachable = through((url, request) => send(url.replace(org.erp.host, '127.0.0.1:1'), request));
  expect(await problems(unreachable)).toEqual(['HOST_UNREACHABLE']);
});

describe('the connection test reports', () => {
  const test = async () => (await org.api('post', '/netsuite/connection/test')).body;
  const problemReport = (code: string, fix: RegExp) => ({
    ok: false,
    problems: [{ code, message: expect.any(String), fix: expect.stringMatching(fix) }],
  });
  const byToken = async (change: object = {}, account = accountId) => {
    const { consumerKey, consumerSecret, tokenId, tokenSecret } =
      await org.erp.account.createTokenCredentials('Portal Service');
    const authentication = { method: 'tba', consumerKey, consumerSecret, tokenId, tokenSecret, ...change };
    expect((await put({ accountId: account, baseUrl: org.erp.account.url, authentication })).status).toBe(
      200,
    );
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
    await put({
      accountId,
      baseUrl: org.erp.account.url,
      authentication: { method: 'oauth2', clientId: 'mistyped', certificateId },
    });
    expect(await test()).toMatchObject(problemReport('CLIENT_UNKNOWN', /client id \(consumer key\)/));
  });

  it('with a certificate: an expired one', async () => {
    await org.erp.connect(org.api);
    await org.sql((tx) => tx('erp_certificates').update({ not_after: new Date('2026-01-01T00:00:00Z') }));
    org.erp.account.setAuthenticationTime(new Date('2031-01-01T00:00:00Z')); // where it has ended as well
    try {
      expect(await test()).toMatchObject(problemReport('CERTIFICATE_EXPIRED', /Create a new certificate/));
    } finally {
      org.erp.account.setAuthenticationTime(null);
    }
  });

  it('a wrong clock of this machine, even when the login fails because of it', async () => {
    await org.erp.connect(org.api);
    const now = () => new Date(Date.now() + 600_000);
    const { secret } = await makeKey(org.ctx, org.id, { permissions: ['write'] });
    const fast = createApi(createApp({ ...org.ctx, clock: { ...org.ctx.clock, now } }), secret);
    const { body } = await fast('post', '/netsuite/connection/test');
    expect(body.ok).toBe(false);
    expect(body.problems[0]).toMatchObject({
      code: 'CLOCK_SKEW',
      fix: expect.stringContaining('Synchronize the clock'),
    });
  });

  it('a role that sees only some of the records, or none', async () => {
    await org.erp.connect(org.api);
    const tables = ['customer', 'item', 'transaction', 'vendor', 'employee', 'contact'];
    try {
      org.erp.account.setVisible('item', false);
      expect(await test()).toMatchObject({
        ok: true,
        problems: [{ code: 'RECORD_TYPE_HIDDEN', fix: expect.stringContaining('"View"') }],
      });
      expect((await org.api('get', '/netsuite/connection')).body).toMatchObject({
        status: 'connected',
        lastError: null,
      });
      for (const table of tables) org.erp.account.setVisible(table, false);
      expect(await test()).toMatchObject(problemReport('PERMISSION_MISSING', /SuiteAnalytics Workbook/));
      expect((await org.api('get', '/netsuite/connection')).body).toMatchObject({
        status: 'failed',
        lastError: expect.any(String),
      });
    } finally {
      for (const table of tables) org.erp.account.setVisible(table, true);
    }
  });

  it('a role that may not use the REST API', async () => {
    await org.erp.connect(org.api);
    org.erp.account.injectFault({
      path: /serverTime/,
      times: 1,
      status: 403,
      body: { 'o:errorDetails': [{ detail: 'No.', 'o:errorCode': 'X' }] },
    });
    expect(await test()).toMatchObject(problemReport('PERMISSION_MISSING', /REST Web Services/));
  });
});

it('stored credentials: 422 when their encryption key is no longer configured', async () => {
  await org.erp.connect(org.api);
  const keyring = createKeyring([{ id: 'test', bytes: randomBytes(32) }]);
  const { secret } = await makeKey(org.ctx, org.id, { permissions: ['write'] });
  const other = createApi(createApp({ ...org.ctx, keyring }), secret);
  for (const path of ['/netsuite/connection/test', '/netsuite/metadata/refresh'])
    expect(listCodes(await other('post', path))).toEqual(['credentials_unreadable']);
});

describe('the metadata', () => {
  it('lists record types, returns one, and keeps the last successful result while the ERP is unavailable', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    const read = await org.api('post', '/netsuite/metadata/refresh');
    expect(read.status).toBe(200);
    expect(read.body.lastError).toBeNull();
    const invoice = read.body.data.find(({ name }: { name: string }) => name === 'invoice');
    expect(invoice).toMatchObject({
      name: 'invoice',
      table: expect.any(String),
      fieldCount: expect.any(Number),
    });
    const shown = (await org.api('get', '/netsuite/metadata/invoice')).body;
    expect(shown.fields.find(({ name }: { name: string }) => name === 'tranid')).toMatchObject({
      type: 'text',
      syncable: true,
      reason: null,
    });
    for (const field of shown.fields) if (!field.syncable) expect(field.reason).toEqual(expect.any(String));
    expect((await org.api('get', '/netsuite/metadata/nonsense')).status).toBe(404);
    await org.erp.account.revokeCertificate(certificateId);
    org.erp.account.revokeTokens();
    const kept = await org.api('post', '/netsuite/metadata/refresh');
    expect(kept.status).toBe(200);
    expect(kept.body.data).toEqual(read.body.data);
    expect(kept.body.lastError).toEqual(expect.any(String));
    expect((await org.api('get', '/netsuite/metadata')).body).toEqual(kept.body);
  });

  it('422 when the credentials are refused and 503 when the ERP is unavailable, without an earlier result', async () => {
    const { certificateId } = await org.erp.connect(org.api);
    org.erp.account.injectFault({ path: /./, times: 50, status: 503, body: 'maintenance' });
    expect(await org.api('post', '/netsuite/metadata/refresh')).toMatchObject({
      status: 503,
      body: { error: { code: 'INTERNAL_ERROR' } },
      headers: { 'retry-after': '30' },
    });
    for (let left = 0; left < 50; left += 1) await fetch(org.erp.account.url);
    await org.erp.account.revokeCertificate(certificateId);
    expect(await refusal(org.api('post', '/netsuite/metadata/refresh'))).toEqual([
      422,
      'CERTIFICATE_UNKNOWN',
    ]);
  });
});
