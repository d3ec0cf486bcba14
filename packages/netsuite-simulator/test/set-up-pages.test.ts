// The set-up pages at their surface: what an administrator sends there, and that a service can sign in with
// the result.
import { expect, it } from 'vitest';
import { createCertificate } from './certificate.ts';
import { useControlled } from './control-client.ts';
import { ACCOUNT_ID, requestToken, signAssertion } from './test-account.ts';

const world = useControlled();

const newCertificate = (days = 700) => createCertificate({ days, keyType: 'ec-p256', now: new Date() });
const createIntegration = async (name: string): Promise<string> =>
  (await world.done('POST', '/set-up/integrations', { name })).clientId;
const integrations = async (): Promise<
  { name: string; clientId: string; certificates: Record<string, string | null>[] }[]
> => (await world.done('GET', '/set-up/integrations')).integrations;

it('the set-up pages create an integration and take a certificate, with which the service signs in until it is revoked', async () => {
  const created = await world.control('POST', '/set-up/integrations', { name: ' Portal Service ' });
  expect(created).toMatchObject({
    status: 201,
    body: { clientId: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const { clientId } = created.body;
  const { certificatePem, privateKeyPem } = await newCertificate();
  const uploaded = await world.control('POST', `/set-up/integrations/${clientId}/certificates`, {
    certificatePem,
  });
  expect(uploaded.status).toBe(201);
  const { certificateId } = uploaded.body;
  const signIn = () => {
    const identity = { clientId, certificateId, privateKeyPem, algorithm: 'ES256' as const };
    return requestToken(world.account, { client_assertion: signAssertion(world.account, identity) });
  };
  expect((await signIn()).status).toBe(200);
  const listed = {
    certificateId,
    createdAt: expect.any(String),
    notAfter: expect.any(String),
    revokedAt: null,
  };
  expect(await integrations()).toContainEqual({
    name: 'Portal Service',
    clientId,
    createdAt: expect.any(String),
    certificates: [listed],
  });

  await world.done('POST', `/set-up/certificates/${certificateId}/revoke`);
  expect((await signIn()).body).toMatchObject({ error: 'invalid_grant' });
  const [integration] = (await integrations()).filter((known) => known.clientId === clientId);
  expect(integration?.certificates).toMatchObject([{ certificateId, revokedAt: expect.any(String) }]);
});

it("the set-up pages show the account's id and URL", async () => {
  expect((await world.done('GET', '/set-up/integrations')).account).toEqual({
    id: ACCOUNT_ID,
    url: world.account.url,
  });
});

it('the set-up pages 422 for what NetSuite would not accept', async () => {
  const clientId = await createIntegration('Other');
  const upload = (certificatePem: unknown, by = clientId) =>
    world.control('POST', `/set-up/integrations/${by}/certificates`, { certificatePem });
  const readMessage = async (answer: ReturnType<typeof upload>) => {
    const { status, body } = await answer;
    return [status, body.error.message];
  };
  expect(await readMessage(upload('abc'))).toEqual([422, expect.stringMatching(/not an X\.509/)]);
  expect(await readMessage(upload((await newCertificate(740)).certificatePem))).toEqual([
    422,
    expect.stringMatching(/two years/),
  ]);
  expect(await readMessage(upload((await newCertificate()).certificatePem, 'unknown'))).toEqual([
    422,
    expect.stringMatching(/client id/),
  ]);
  expect(await readMessage(upload(undefined))).toEqual([
    422,
    expect.stringMatching(/^certificatePem is required/),
  ]);
  expect(await readMessage(world.control('POST', '/set-up/integrations', { name: ' ' }))).toEqual([
    422,
    expect.stringMatching(/^name/),
  ]);
  expect(
    await readMessage(world.control('POST', '/set-up/integrations', { name: 'x', scope: 'all' })),
  ).toEqual([422, expect.stringMatching(/^scope is an unknown field/)]);
  expect(await readMessage(world.control('POST', '/set-up/certificates/unknown/revoke'))).toEqual([
    422,
    expect.stringMatching(/this id/),
  ]);
  expect((await integrations()).find((known) => known.clientId === clientId)?.certificates).toEqual([]);
});

it('the set-up pages 401 without the token, except for the page and its files', async () => {
  for (const [method, path] of [
    ['GET', '/integrations'],
    ['POST', '/integrations'],
    ['POST', '/integrations/x/certificates'],
    ['POST', '/certificates/x/revoke'],
  ] as const)
    expect((await fetch(`${world.url}/set-up${path}`, { method })).status, path).toBe(401);
  const page = await fetch(`${world.url}/set-up`);
  expect([page.status, page.headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("default-src 'none'"),
  ]);
  const files = [...(await page.text()).matchAll(/(?:src|href)="(\/set-up\/page\/[^"]+)"/g)].map(
    ([, file]) => file,
  );
  expect(files).toHaveLength(2);
  for (const file of files) expect((await fetch(`${world.url}${file}`)).status, file).toBe(200);
});
