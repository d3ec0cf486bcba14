// Forms of connections are made from the OpenAPI document: what a person enters must be what the service takes, and
// what is stored must be shown and saved again as it is.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConnectionInput, ConnectionUpdate } from '../../../src/platform/connections/connections.schemas.ts';
import { type KindField, listKinds } from '../../../web/console/connection-kinds.ts';
import {
  listKindFacts,
  toKindInput,
  toKindValues,
  toSpecs,
} from '../../../web/console/src/screens/connection/kind-values.ts';

const kinds = listKinds(JSON.parse(readFileSync('docs/openapi.json', 'utf8')));
const fieldsOf = (wanted: string): readonly KindField[] =>
  kinds.find(({ kind }) => kind === wanted)?.fields ?? [];

const settings = {
  serviceRoot: 'https://erp.example/odata/',
  dialect: 'sap',
  signIn: { method: 'basic', userName: 'reader' },
  company: { in: 'query', name: 'sap-client', value: '100' },
  tenant: null,
  pageSize: 500,
  timeZone: 'Europe/Vienna',
  entitySets: { orders: { changedField: null } },
};

describe('the form of a kind', () => {
  it('has each kind, with its words', () => {
    expect(kinds.map(({ kind, title }) => [kind, title])).toEqual([
      ['netsuite', 'NetSuite'],
      ['odata', 'OData v4'],
    ]);
    expect(kinds.every(({ text }) => text.length > 30)).toBe(true);
  });

  it('begins with values that are valid once what is required is entered; of secrets, spaces count', () => {
    const fields = fieldsOf('odata');
    const required = fields.filter(
      ({ required, options, when = {} }) =>
        required === true &&
        options === undefined &&
        Object.values(when).every((value) => value === 'oauth2'),
    );
    expect(required.map(({ name }) => name)).toEqual([
      'serviceRoot',
      'signIn.tokenUrl',
      'signIn.clientId',
      'secrets.clientSecret',
    ]);
    const entered = Object.fromEntries(required.map(({ name }) => [name, ` https://${name}.example `]));
    const input = toKindInput(fields, { ...toKindValues(fields), ...entered });
    expect(ConnectionInput.parse({ kind: 'odata', name: 'bc', ...input })).toEqual({
      ...{ kind: 'odata', name: 'bc', secrets: { clientSecret: ' https://secrets.clientSecret.example ' } },
      settings: {
        serviceRoot: 'https://serviceRoot.example',
        dialect: 'generic',
        signIn: {
          ...{ method: 'oauth2', tokenUrl: 'https://signIn.tokenUrl.example' },
          ...{ clientId: 'https://signIn.clientId.example', scope: null, audience: null },
        },
        ...{ company: null, tenant: null, pageSize: null, timeZone: 'UTC', entitySets: {} },
      },
    });
  });

  it('shows what is stored, and saves it again as it is, without the secret', () => {
    const fields = fieldsOf('odata');
    const input = toKindInput(fields, toKindValues(fields, settings));
    expect(ConnectionUpdate.parse({ kind: 'odata', ...input })).toEqual({ kind: 'odata', settings });
    expect(listKindFacts(fields, toKindValues(fields, settings))).toEqual([
      ['Service root', 'https://erp.example/odata/'],
      ['Product', 'SAP S/4HANA'],
      ['How the service signs in', 'User name and password'],
      ['User name', 'reader'],
      ['Company', 'In a query parameter'],
      ['Company: parameter', 'sap-client'],
      ['Company: value', '100'],
      ['Page size', '500'],
      ['Time zone', 'Europe/Vienna'],
      ['Entity sets', expect.stringContaining('"changedField": null')],
    ]);
  });

  it('asks for the secret of the chosen sign-in, and keeps only the one that is stored', () => {
    const fields = fieldsOf('odata');
    const stored = toKindValues(fields, settings);
    const shownSecrets = (values: typeof stored) =>
      toSpecs(fields, stored, ', ends in 1234')
        .filter(({ kind, when }) => kind === 'password' && when?.(values) === true)
        .map(({ name, path, required, hint }) => ({ name, path, required, hint }));
    expect(shownSecrets(stored)).toEqual([
      {
        ...{ name: 'secrets.password', path: 'secrets', required: false },
        hint: 'Stored, ends in 1234. Enter another one to replace it.',
      },
    ]);
    expect(shownSecrets({ ...stored, 'signIn.method': 'header' })).toEqual([
      { name: 'secrets.headerValue', path: 'secrets', required: true, hint: undefined },
    ]);
  });

  it('names JSON and numbers that are none', () => {
    const fields = fieldsOf('odata');
    const stored = toKindValues(fields, settings);
    expect(() => toKindInput(fields, { ...stored, entitySets: '{' })).toThrow(
      'Entity sets is not valid JSON',
    );
    expect(() => toKindInput(fields, { ...stored, pageSize: 'many' })).toThrow(
      'Page size is not a number: many',
    );
  });

  it('of NetSuite is that of its account step', () => {
    const fields = fieldsOf('netsuite').filter(({ name }) => !/certificate/.test(name));
    const values = {
      ...{ accountId: '1234567', 'authentication.method': 'tba', 'authentication.consumerKey': 'k' },
      ...{ 'authentication.tokenId': 't', 'secrets.consumerSecret': 's', 'secrets.tokenSecret': 'z' },
    };
    expect(toKindInput(fields, { ...toKindValues(fields), ...values })).toEqual({
      settings: {
        accountId: '1234567',
        baseUrl: null,
        authentication: { method: 'tba', consumerKey: 'k', tokenId: 't' },
      },
      secrets: { consumerSecret: 's', tokenSecret: 'z' },
    });
  });
});
