// The simulated account's set-up pages, as an administrator uses them: create an integration, upload the
// certificate, revoke it.
import { randomBytes } from 'node:crypto';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createCertificate } from '../../packages/netsuite-simulator/test/certificate.ts';
import {
  dropDatabase,
  requestToken,
  signAssertion,
} from '../../packages/netsuite-simulator/test/test-account.ts';
import { accountId, dataFolder } from '../setup/erp.ts';
import {
  accessibilityViolations,
  expectSound,
  looks,
  readTraces,
  useVisits,
  type Visit,
} from './chromium.ts';

const database = `erp_${randomBytes(6).toString('hex')}`;
let account: NetsuiteAccount;
const openVisit = useVisits();

beforeAll(async () => {
  account = await startNetsuiteAccount({ admin: inject('pg'), database, dataFolder, accountId, control: {} });
});
afterAll(async () => {
  await account.stop();
  await dropDatabase(database);
});

async function openSetUp(
  token = account.control?.token,
  options: Parameters<typeof openVisit>[0] = {},
): Promise<Visit> {
  const visit = await openVisit(options);
  await visit.page.goto(`${account.control?.url}/set-up#token=${token}`);
  return visit;
}

it('creates an integration and uploads a certificate with which a service signs in, until it is revoked', async () => {
  const visit = await openSetUp();
  const { page, complaints } = visit;
  await page.getByText(account.url).waitFor();
  await page.getByLabel('Name').fill('Portal Service');
  await page.getByRole('button', { name: 'Save' }).click();
  const created = page.getByRole('status').filter({ hasText: 'Integration created' });
  const clientId = (await created.locator('code').textContent()) ?? '';
  expect(clientId).toMatch(/^[0-9a-f]{64}$/);

  const { certificatePem, privateKeyPem } = await createCertificate({
    days: 700,
    keyType: 'ec-p256',
    now: new Date(),
  });
  // As a person copies it from the JSON response of the service.
  await page.getByLabel('Certificate (PEM)').fill(JSON.stringify(certificatePem).slice(1, -1));
  await page.getByRole('button', { name: 'Upload' }).click();
  const uploaded = page.getByRole('status').filter({ hasText: 'Certificate uploaded' });
  const certificateId = (await uploaded.locator('code').textContent()) ?? '';
  const signIn = async (): Promise<number> => {
    const identity = { clientId, certificateId, privateKeyPem, algorithm: 'ES256' as const };
    return (await requestToken(account, { client_assertion: signAssertion(account, identity) })).status;
  };
  expect(await signIn()).toBe(200);
  const row = page.getByRole('row').filter({ hasText: certificateId });
  expect(await row.textContent()).toContain('Portal Service');
  expect(await accessibilityViolations(page)).toEqual([]);

  // The client id is shown once only.
  await page.reload();
  await row.waitFor();
  expect(await page.locator('main').innerText()).not.toContain(clientId);
  await row.getByRole('button', { name: `Revoke certificate ${certificateId}` }).click();
  await row.getByText('Revoked').waitFor();
  expect(await signIn()).toBe(400);
  expect(complaints).toEqual([]);
  const traces = JSON.parse(await readTraces(visit)) as [object];
  expect(traces[0]).toMatchObject({
    local: {},
    session: { 'control-token': account.control?.token },
    cookie: '',
    address: `${account.control?.url}/set-up`,
  });
});

it('takes a certificate from a file, and shows why the account refuses one', async () => {
  const { page } = await openSetUp();
  await page.getByLabel('Name').fill('From a file');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Integration created' }).waitFor();
  await page.getByLabel('Certificate (PEM)').fill('not a certificate');
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('alert').filter({ hasText: 'This is not an X.509 certificate in PEM.' }).waitFor();
  const { certificatePem } = await createCertificate({ days: 700, keyType: 'ec-p256', now: new Date() });
  await page.getByLabel('or a file').setInputFiles({
    name: 'c.pem',
    mimeType: 'application/x-pem-file',
    buffer: Buffer.from(certificatePem),
  });
  await page.waitForFunction(
    "document.querySelector('textarea').value.startsWith('-----BEGIN CERTIFICATE-----')",
  );
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('status').filter({ hasText: 'Certificate uploaded' }).waitFor();
  expect(await page.getByRole('alert').isHidden()).toBe(true);
});

it('says that the token is wrong', async () => {
  const { page } = await openSetUp('wrong');
  await page.getByRole('alert').filter({ hasText: 'Authorization must be Bearer' }).waitFor();
});

it.each(looks)('looks right at $name', async ({ name, width, colorScheme }) => {
  const { page } = await openSetUp(undefined, { viewport: { width, height: 900 }, colorScheme });
  await page.getByText(account.url).waitFor();
  await expectSound(page, `erp-set-up-${name}`, { fullPage: true });
});
