// Credentials that the ERP refuses: what the connection says, and how a certificate that was revoked is put
// right.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startCompany } from '../../green/company.ts';
import { type Answer, pluck, refusal } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';

const company = useStarted(() => startCompany());
let clientId: string;
beforeEach(() => company.control('POST', '/reset'));
/** Connects with an integration and a certificate of their own. */
const connect = async () => {
  clientId = (await company.erp.connect(company.api)).clientId;
  await refreshMetadata();
};

const connection = async () => (await company.api('get', '/netsuite/connection')).body;
const put = (certificateId: string | null, more: object = {}): Promise<Answer> =>
  company.api('put', '/netsuite/connection', {
    accountId,
    baseUrl: company.erp.account.url,
    authentication: { method: 'oauth2', clientId, certificateId, ...more },
  });
const test = async () => (await company.api('post', '/netsuite/connection/test')).body;
const expectOk = async () => expect(await test()).toMatchObject({ ok: true });
const expectConnection = async (shown: object) => expect(await connection()).toMatchObject(shown);
const connected = { status: 'connected', lastError: null };
/** Saves the connection with this certificate id, which a connection test accepts. */
const expectAccepted = async (certificateId: string | null) => {
  expect((await put(certificateId)).status).toBe(200);
  await expectOk();
};
/** As before, for an id that a connection test does not accept. */
const expectUnknown = async (certificateId: string) => {
  expect((await put(certificateId)).status).toBe(200);
  expect(pluck((await test()).problems, 'code')).toEqual(['CERTIFICATE_UNKNOWN']);
};
const run = async (status: 'succeeded' | 'failed') => {
  const ended = await company.run('customer');
  expect(ended.status).toBe(status);
  return ended;
};
const makeCertificate = async () => (await company.api('post', '/netsuite/connection/certificate')).body;
const refreshMetadata = async () => (await company.api('post', '/netsuite/metadata/refresh')).body;

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
    await run('succeeded');
    await expectOk();
    await revokeAll();
    const { error } = await run('failed');
    const fix = expect.stringMatching(/Compare the certificate id .*upload it again/);
    expect(error).toMatchObject({ code: 'CERTIFICATE_UNKNOWN', fix });
    const before = await connection();
    expect(before).toMatchObject({ status: 'failed', lastError: error.message });
    const [{ certificatePem, certificateId }] = before.certificates;
    expect(certificatePem).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(JSON.stringify(before)).not.toContain('PRIVATE KEY');
    const renewed = await upload(certificatePem);
    expect(renewed).not.toBe(certificateId);
    const saved = await put(renewed);
    const untested = { status: 'untested', lastError: null, authentication: { certificateId: renewed } };
    expect([saved.status, saved.body]).toMatchObject([200, untested]);
    expect(await slots()).toEqual({ 1: { active: true, certificateId: renewed } });
    await run('succeeded');
    await expectConnection(connected);
  });

  it('is replaced while the status is still connected, also after a typing error', async () => {
    await expectOk();
    await revokeAll();
    const renewed = await upload((await active()).certificatePem);
    expect(await connection()).toMatchObject({ status: 'connected' });
    expect((await put('typing-error')).body).toMatchObject({ status: 'untested', lastError: null });
    const wrong = await test();
    expect(pluck(wrong.problems, 'code')).toEqual(['CERTIFICATE_UNKNOWN']);
    expect(await connection()).toMatchObject({ status: 'failed', lastError: wrong.problems[0].message });
    await expectAccepted(renewed);
    await expectConnection(connected);
  });

  it('keeps its id when the connection is saved without one', async () => {
    const { certificateId } = await active();
    expect((await put(null)).body).toMatchObject({ hasCredentials: true, authentication: { certificateId } });
    await expectOk();
  });
});

describe('a certificate that waits in the other slot', () => {
  beforeAll(connect);

  it('gets the next id; the former one stays and can be used again', async () => {
    const former = await active();
    const { slot, certificatePem } = await makeCertificate();
    expect((await certificates()).find((shown) => shown.slot === slot)).toMatchObject({ certificatePem });
    const next = await upload(certificatePem);
    await expectUnknown('typing-error');
    expect((await put(next)).status).toBe(200);
    expect(await slots()).toEqual({
      [former.slot]: { active: false, certificateId: former.certificateId },
      [slot]: { active: true, certificateId: next },
    });
    await expectOk();
    for (const id of [former.certificateId, next]) await expectAccepted(id);
  });

  it('is not meant when certificateSlot names the active one', async () => {
    const { slot, certificatePem } = await active();
    const waiting = await makeCertificate();
    await revokeAll();
    const renewed = await upload(certificatePem);
    // Without the slot, the id goes to the certificate that waits for one, which is wrong here and can be
    // undone.
    await expectUnknown(renewed);
    expect((await put(renewed, { certificateSlot: slot })).status).toBe(200);
    expect(await slots()).toEqual({
      [slot]: { active: true, certificateId: renewed },
      [waiting.slot]: { active: false, certificateId: null },
    });
    await expectOk();
    const next = await upload(waiting.certificatePem);
    await expectAccepted(next);
    expect(await slots()).toMatchObject({ [waiting.slot]: { active: true, certificateId: next } });
  });

  it('422 when a new id could belong to either: certificateSlot decides', async () => {
    const [newer, older] = (await certificates()).toSorted((a, b) => Number(b.active) - Number(a.active));
    expect((await put(older?.certificateId ?? null)).status).toBe(200);
    const renewed = await upload(newer?.certificatePem ?? '');
    const before = await slots();
    const named = { certificateSlot: newer?.slot };
    expect(await refusal(put(renewed))).toEqual([422, 'certificate_ambiguous']);
    expect(await refusal(put(null, named))).toEqual([422, 'certificate_id_needed']);
    expect(await slots()).toEqual(before);
    expect((await put(renewed, named)).status).toBe(200);
    expect(await slots()).toEqual({
      [newer?.slot ?? 0]: { active: true, certificateId: renewed },
      [older?.slot ?? 0]: { active: false, certificateId: older?.certificateId },
    });
    await expectOk();
  });

  it('422 for a slot without a certificate', async () => {
    await company.api('delete', '/netsuite/connection');
    expect(await refusal(put('any', { certificateSlot: 2 }))).toEqual([422, 'no_certificate']);
    await connect();
    expect(await refusal(put('any', { certificateSlot: 2 }))).toEqual([422, 'no_certificate']);
    expect((await put('any', { certificateSlot: 3 })).status).toBe(422);
  });
});

describe('the status of the connection', () => {
  beforeAll(connect);
  const refuseLogin = () => company.control('PUT', '/faults', [{ on: { kind: 'token' }, status: 401 }]);
  const allowLogin = () => company.control('PUT', '/faults', []);

  it('is failed after a run that could not sign in, and connected after one that could', async () => {
    await expectOk();
    const { lastTestedAt } = await connection();
    await refuseLogin();
    const { error } = await run('failed');
    expect(error.code).toBe('CLIENT_UNKNOWN');
    await expectConnection({ status: 'failed', lastError: error.message, lastTestedAt });
    await allowLogin();
    await run('succeeded');
    await expectConnection({ ...connected, lastTestedAt });
  });

  it('is failed after a metadata refresh that could not sign in, and connected after one that could', async () => {
    await refuseLogin();
    const { lastError } = await refreshMetadata();
    await expectConnection({ status: 'failed', lastError });
    await allowLogin();
    expect(await refreshMetadata()).toMatchObject({ lastError: null });
    await expectConnection(connected);
  });

  it('stays as it is when the ERP is down', async () => {
    await expectOk();
    await company.control('PUT', '/faults', [{ on: {}, status: 503 }]);
    await run('failed');
    await expectConnection(connected);
  });

  it('is that of the present credentials: a run that signed in with replaced ones does not count', async () => {
    await company.control('PUT', '/faults', [
      { on: { kind: 'token' }, delayMs: 1_500 },
      { on: { kind: 'token' }, status: 401 },
    ]);
    const running = run('failed');
    await until(async () => (await company.control('GET', '/state')).requests.token > 0 || undefined);
    const { certificateId } = await active();
    expect((await put(certificateId)).body).toMatchObject({ status: 'untested' });
    await running;
    await expectConnection({ status: 'untested', lastError: null });
  });
});

describe('a connection test that cannot read a record type', () => {
  beforeAll(connect);
  const hide = (...tables: string[]) => company.control('PUT', '/hidden', { tables, columns: {}, rows: {} });

  it('is ok while no sync of that type is enabled', async () => {
    await company.config('customer');
    const sync = await company.config('item', { enabled: false });
    await hide('item', 'vendor');
    const problems = [{ recordTypes: ['item'] }, { recordTypes: ['vendor'] }];
    expect(await test()).toMatchObject({ ok: true, partial: false, problems });
    await expectConnection(connected);
    expect((await company.api('patch', `/sync-configs/${sync}`, { enabled: true })).status).toBe(200);
    const configured = await test();
    expect(configured).toMatchObject({ ok: false, partial: true, problems });
    const failed = { status: 'failed', lastError: configured.problems[0].message };
    await expectConnection(failed);
    // Another sync proves nothing about the hidden records.
    await run('succeeded');
    await expectConnection(failed);
    await hide();
    expect(await test()).toMatchObject({ ok: true, partial: false, problems: [] });
    await expectConnection(connected);
    await revokeAll();
    expect(await test()).toMatchObject({ ok: false, partial: false });
    await connect();
  });

  it('is not ok when the lines of a configured type are hidden, unless the sync does not read them', async () => {
    await hide('transactionline');
    const recordTypes = ['invoice', 'creditMemo', 'salesOrder'];
    expect(await test()).toMatchObject({ ok: true, problems: [{ recordTypes }] });
    await hide();
    const sync = await company.config('invoice', { fields: ['tranid'] });
    await hide('transactionline');
    await expectOk();
    expect((await company.api('patch', `/sync-configs/${sync}`, { fields: '*' })).status).toBe(200);
    const problem = { code: 'RECORD_TYPE_HIDDEN', message: expect.stringMatching(/lines of invoice/) };
    expect(await test()).toMatchObject({ ok: false, partial: true, problems: [problem] });
    const saved = await put((await active()).certificateId);
    expect(saved.body).toMatchObject({ status: 'untested', lastError: null });
  });
});
