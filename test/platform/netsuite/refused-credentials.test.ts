// Credentials that the ERP refuses: what the connection says, and how a certificate that was revoked is put
// right.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startCompany } from '../../green/company.ts';
import { type Answer, listCodes } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';

const company = useStarted(() => startCompany());
let clientId: string;
beforeEach(() => company.control('POST', '/reset'));
/** Connects with an integration and a certificate of their own. */
const connect = async () => {
  clientId = (await company.erp.connect(company.api)).clientId;
  await company.api('post', '/netsuite/metadata/refresh');
};

const connection = async () => (await company.api('get', '/netsuite/connection')).body;
const put = (certificateId: string | null, more: object = {}): Promise<Answer> =>
  company.api('put', '/netsuite/connection', {
    accountId,
    baseUrl: company.erp.account.url,
    authentication: { method: 'oauth2', clientId, certificateId, ...more },
  });
const test = async () => (await company.api('post', '/netsuite/connection/test')).body;
const codes = ({ problems }: { problems: readonly { code: string }[] }) => problems.map(({ code }) => code);

type Shown = { slot: number; certificateId: string | null; active: boolean; certificatePem: string };
const certificates = async (): Promise<Shown[]> => (await connection()).certificates;
const slots = async () =>
  Object.fromEntries(
    (await certificates()).map(({ slot, active, certificateId }) => [slot, { active, certificateId }]),
  );
const active = async (): Promise<Shown> => {
  const found = (await certificates()).find((certificate) => certificate.active);
  if (found === undefined) throw new Error('no certificate is active');
  return found;
};
/**
 * Uploads a certificate on the set-up pages, as an administrator of the ERP does, and returns the id that
 * they show.
 */
const upload = async (certificatePem: string): Promise<string> =>
  (await company.control('POST', `/set-up/integrations/${clientId}/certificates`, { certificatePem }))
    .certificateId;
const revokeAll = () => company.control('POST', '/certificate/revoke');

describe('a revoked certificate', () => {
  beforeAll(async () => {
    clientId = (await connection()).authentication.clientId;
  });

  it('can be shown and uploaded again: its new id is taken, and runs succeed', async () => {
    expect(await company.run('customer')).toMatchObject({ status: 'succeeded' });
    expect(await test()).toMatchObject({ ok: true });
    await revokeAll();
    const failed = await company.run('customer');
    expect(failed).toMatchObject({
      status: 'failed',
      error: {
        code: 'CERTIFICATE_UNKNOWN',
        fix: expect.stringMatching(/Compare the certificate id .*upload it again/),
      },
    });
    const before = await connection();
    expect(before).toMatchObject({ status: 'failed', lastError: failed.error.message });
    const [{ certificatePem, certificateId }] = before.certificates;
    expect(certificatePem).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(JSON.stringify(before)).not.toContain('PRIVATE KEY');
    const renewed = await upload(certificatePem);
    expect(renewed).not.toBe(certificateId);
    const saved = await put(renewed);
    expect([saved.status, saved.body]).toMatchObject([
      200,
      { status: 'untested', lastError: null, authentication: { certificateId: renewed } },
    ]);
    expect(await slots()).toEqual({ 1: { active: true, certificateId: renewed } });
    expect(await company.run('customer')).toMatchObject({ status: 'succeeded' });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
  });

  it('is replaced while the status is still connected, also after a typing error', async () => {
    expect(await test()).toMatchObject({ ok: true });
    await revokeAll();
    const renewed = await upload((await active()).certificatePem);
    expect(await connection()).toMatchObject({ status: 'connected' });
    expect((await put('typing-error')).body).toMatchObject({ status: 'untested', lastError: null });
    const wrong = await test();
    expect(codes(wrong)).toEqual(['CERTIFICATE_UNKNOWN']);
    expect(await connection()).toMatchObject({ status: 'failed', lastError: wrong.problems[0].message });
    expect((await put(renewed)).status).toBe(200);
    expect(await test()).toMatchObject({ ok: true });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
  });

  it('keeps its id when the connection is saved without one', async () => {
    const { certificateId } = await active();
    expect((await put(null)).body).toMatchObject({ hasCredentials: true, authentication: { certificateId } });
    expect(await test()).toMatchObject({ ok: true });
  });
});

describe('a certificate that waits in the other slot', () => {
  beforeAll(connect);

  it('gets the next id; the former one stays and can be used again', async () => {
    const former = await active();
    const made = (await company.api('post', '/netsuite/connection/certificate')).body;
    expect((await certificates()).find(({ slot }) => slot === made.slot)).toMatchObject({
      certificatePem: made.certificatePem,
    });
    const next = await upload(made.certificatePem);
    expect((await put('typing-error')).status).toBe(200);
    expect(codes(await test())).toEqual(['CERTIFICATE_UNKNOWN']);
    expect((await put(next)).status).toBe(200);
    expect(await slots()).toEqual({
      [former.slot]: { active: false, certificateId: former.certificateId },
      [made.slot]: { active: true, certificateId: next },
    });
    expect(await test()).toMatchObject({ ok: true });
    for (const id of [former.certificateId, next]) {
      expect((await put(id)).status).toBe(200);
      expect(await test()).toMatchObject({ ok: true });
    }
  });

  it('is not meant when certificateSlot names the active one', async () => {
    const { slot, certificatePem } = await active();
    const waiting = (await company.api('post', '/netsuite/connection/certificate')).body;
    await revokeAll();
    const renewed = await upload(certificatePem);
    // Without the slot, the id goes to the certificate that waits for one, which is wrong here and can be
    // undone.
    expect((await put(renewed)).status).toBe(200);
    expect(codes(await test())).toEqual(['CERTIFICATE_UNKNOWN']);
    expect((await put(renewed, { certificateSlot: slot })).status).toBe(200);
    expect(await slots()).toEqual({
      [slot]: { active: true, certificateId: renewed },
      [waiting.slot]: { active: false, certificateId: null },
    });
    expect(await test()).toMatchObject({ ok: true });
    const next = await upload(waiting.certificatePem);
    expect((await put(next)).status).toBe(200);
    expect(await slots()).toMatchObject({ [waiting.slot]: { active: true, certificateId: next } });
    expect(await test()).toMatchObject({ ok: true });
  });

  it('422 when a new id could belong to either: certificateSlot decides', async () => {
    const [newer, older] = (await certificates()).toSorted((a, b) => Number(b.active) - Number(a.active));
    expect((await put(older?.certificateId ?? null)).status).toBe(200);
    const renewed = await upload(newer?.certificatePem ?? '');
    const before = await slots();
    expect(listCodes(await put(renewed))).toEqual(['certificate_ambiguous']);
    expect(listCodes(await put(null, { certificateSlot: newer?.slot }))).toEqual(['certificate_id_needed']);
    expect(await slots()).toEqual(before);
    expect((await put(renewed, { certificateSlot: newer?.slot })).status).toBe(200);
    expect(await slots()).toEqual({
      [newer?.slot ?? 0]: { active: true, certificateId: renewed },
      [older?.slot ?? 0]: { active: false, certificateId: older?.certificateId },
    });
    expect(await test()).toMatchObject({ ok: true });
  });

  it('422 for a slot without a certificate', async () => {
    await company.api('delete', '/netsuite/connection');
    expect(listCodes(await put('any', { certificateSlot: 2 }))).toEqual(['no_certificate']);
    await connect();
    expect(listCodes(await put('any', { certificateSlot: 2 }))).toEqual(['no_certificate']);
    expect((await put('any', { certificateSlot: 3 })).status).toBe(422);
  });
});

describe('the status of the connection', () => {
  beforeAll(connect);
  const refuseLogin = () => company.control('PUT', '/faults', [{ on: { kind: 'token' }, status: 401 }]);
  const allowLogin = () => company.control('PUT', '/faults', []);

  it('is failed after a run that could not sign in, and connected after one that could', async () => {
    expect(await test()).toMatchObject({ ok: true });
    const { lastTestedAt } = await connection();
    await refuseLogin();
    const { status, error } = await company.run('customer');
    expect([status, error.code]).toEqual(['failed', 'CLIENT_UNKNOWN']);
    expect(await connection()).toMatchObject({ status: 'failed', lastError: error.message, lastTestedAt });
    await allowLogin();
    expect(await company.run('customer')).toMatchObject({ status: 'succeeded' });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null, lastTestedAt });
  });

  it('is failed after a metadata refresh that could not sign in, and connected after one that could', async () => {
    await refuseLogin();
    const refused = (await company.api('post', '/netsuite/metadata/refresh')).body;
    expect(await connection()).toMatchObject({ status: 'failed', lastError: refused.lastError });
    await allowLogin();
    expect((await company.api('post', '/netsuite/metadata/refresh')).body).toMatchObject({ lastError: null });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
  });

  it('stays as it is when the ERP is down', async () => {
    expect(await test()).toMatchObject({ ok: true });
    await company.control('PUT', '/faults', [{ on: {}, status: 503 }]);
    expect(await company.run('customer')).toMatchObject({ status: 'failed' });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
  });

  it('is that of the present credentials: a run that signed in with replaced ones does not count', async () => {
    await company.control('PUT', '/faults', [
      { on: { kind: 'token' }, delayMs: 1_500 },
      { on: { kind: 'token' }, status: 401 },
    ]);
    const running = company.run('customer');
    await until(async () => (await company.control('GET', '/state')).requests.token > 0 || undefined);
    const { certificateId } = await active();
    expect((await put(certificateId)).body).toMatchObject({ status: 'untested' });
    expect(await running).toMatchObject({ status: 'failed' });
    expect(await connection()).toMatchObject({ status: 'untested', lastError: null });
  });
});

describe('a connection test that cannot read a record type', () => {
  beforeAll(connect);
  const hide = (...tables: string[]) => company.control('PUT', '/hidden', { tables, columns: {}, rows: {} });

  it('is ok while no sync of that type is enabled', async () => {
    await company.config('customer');
    const sync = await company.config('item', { enabled: false });
    await hide('item', 'vendor');
    const report = await test();
    expect(report).toMatchObject({
      ok: true,
      partial: false,
      problems: [{ recordTypes: ['item'] }, { recordTypes: ['vendor'] }],
    });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
    expect((await company.api('patch', `/sync-configs/${sync}`, { enabled: true })).status).toBe(200);
    const configured = await test();
    expect(configured).toMatchObject({
      ok: false,
      partial: true,
      problems: [{ recordTypes: ['item'] }, { recordTypes: ['vendor'] }],
    });
    expect(await connection()).toMatchObject({ status: 'failed', lastError: configured.problems[0].message });
    // Another sync proves nothing about the hidden records.
    expect(await company.run('customer')).toMatchObject({ status: 'succeeded' });
    expect(await connection()).toMatchObject({ status: 'failed', lastError: configured.problems[0].message });
    await hide();
    expect(await test()).toMatchObject({ ok: true, partial: false, problems: [] });
    expect(await connection()).toMatchObject({ status: 'connected', lastError: null });
    await revokeAll();
    expect(await test()).toMatchObject({ ok: false, partial: false });
    await connect();
  });

  it('is not ok when the lines of a configured type are hidden, unless the sync does not read them', async () => {
    await hide('transactionline');
    expect(await test()).toMatchObject({
      ok: true,
      problems: [{ recordTypes: ['invoice', 'creditMemo', 'salesOrder'] }],
    });
    await hide();
    const sync = await company.config('invoice', { fields: ['tranid'] });
    await hide('transactionline');
    expect(await test()).toMatchObject({ ok: true });
    expect((await company.api('patch', `/sync-configs/${sync}`, { fields: '*' })).status).toBe(200);
    const report = await test();
    expect(report).toMatchObject({
      ok: false,
      partial: true,
      problems: [{ code: 'RECORD_TYPE_HIDDEN', message: expect.stringMatching(/lines of invoice/) }],
    });
    expect((await put((await active()).certificateId)).body).toMatchObject({
      status: 'untested',
      lastError: null,
    });
  });
});
