// What is checked when a connection to an OData service is entered, before anything is sent to it.
import { beforeAll, describe, expect, it } from 'vitest';
import { listCodes } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
const signIn = {
  method: 'oauth2',
  tokenUrl: 'https://login.example.com/token',
  clientId: 'portal',
  scope: 'all',
  audience: null,
};
const settings = { serviceRoot: 'https://erp.example.com/api/', signIn };
const path = '/connections/books';
const change = (more: object) =>
  org.api('patch', path, { kind: 'odata', settings: { ...settings, ...more } });

beforeAll(async () => {
  const secrets = { clientSecret: 'a-secret-of-some-length' };
  expect(
    (await org.api('post', '/connections', { name: 'books', kind: 'odata', settings, secrets })).status,
  ).toBe(201);
});

describe('the secret of a connection', () => {
  it.each([
    ['another token address', { signIn: { ...signIn, tokenUrl: 'https://other.example.com/token' } }],
    ['another host', { serviceRoot: 'https://other.example.com/api/' }],
    ['another client', { signIn: { ...signIn, clientId: 'other' } }],
    ['another sign-in', { signIn: { method: 'basic', userName: 'portal' } }],
  ])('is sent to no %s: it has to be entered again', async (_what, more) => {
    expect(listCodes(await change(more))).toEqual(['secrets_needed']);
    expect((await org.api('get', path)).body).toMatchObject({ settings: { signIn } });
  });

  it('stays where only the scope or the path changes', async () => {
    const answer = await change({
      serviceRoot: 'https://erp.example.com/v2/',
      signIn: { ...signIn, scope: 'some' },
    });
    expect(answer.body).toMatchObject({ hasCredentials: true, credentialHint: 'ngth' });
  });
});

it('selects a company of Dynamics 365 by its records alone', async () => {
  const named = { in: 'query', name: 'company', value: 'usmf' };
  expect(listCodes(await change({ dialect: 'dynamics365', company: named }))).toEqual(['data_area']);
  expect((await change({ dialect: 'dynamics365', company: { ...named, name: 'dataAreaId' } })).status).toBe(
    200,
  );
});

it.each([
  ['https://api.businesscentral.dynamics.com/v2.0/x/production/api/v2.0/', 'businessCentral'],
  ['https://contoso.operations.dynamics.com/data', 'dynamics365'],
  ['https://my1-api.s4hana.cloud.sap/sap/opu/odata4/sap/api/', 'sap'],
  ['https://books.example.com/t/Books/api/odata/dac', 'acumatica'],
  ['https://api.businesscentral.dynamics.com.example.com/', 'generic'],
])('finds the product behind %s', async (serviceRoot, dialect) => {
  const secrets = { clientSecret: 'a-secret-of-some-length' };
  const answer = await org.api('patch', path, {
    kind: 'odata',
    settings: { ...settings, serviceRoot },
    secrets,
  });
  expect(answer.body.settings.dialect).toBe(dialect);
});
