// The connector for OData v4, next to the simulated service's own records: Business Central's API and SAP's purchase orders.
import { hash } from 'node:crypto';
import { startODataSimulator } from 'odata-simulator';
import { connectorKinds } from '../../src/connectors/kinds.ts';
import type { OdataSettings } from '../../src/connectors/odata/connection.ts';
import { describeErp, type ForeignErp } from './suite.ts';

type Profile = {
  readonly profile: 'businessCentral' | 'sap';
  readonly table: string;
  /** The property that is the name, and what it may hold of one. */
  readonly property: string;
  readonly shorten: (name: string) => string;
};

async function start({ profile, table, property, shorten }: Profile): Promise<ForeignErp> {
  const service = await startODataSimulator({ profile, maxPageSize: 10 });
  const { records, credentials, companyPath } = service;
  const { pathname } = new URL(service.serviceRoot);
  const signIn: OdataSettings['signIn'] =
    credentials.kind === 'oauth2'
      ? {
          ...{ method: 'oauth2', tokenUrl: credentials.tokenUrl, clientId: credentials.clientId },
          ...{ scope: credentials.scope, audience: null },
        }
      : { method: 'basic', userName: 'SIMULATOR' };
  const secretOf = (secret: string) =>
    credentials.kind === 'oauth2' ? { clientSecret: secret } : { password: secret };
  const own =
    credentials.kind === 'oauth2'
      ? credentials.clientSecret
      : credentials.kind === 'basic'
        ? credentials.password
        : '';
  const settings = (url: string): OdataSettings => ({
    ...{ serviceRoot: url + pathname, dialect: profile, signIn, tenant: null, timeZone: 'UTC' },
    company: companyPath === '' ? null : { in: 'path', segment: companyPath.slice(0, -1) },
    ...{ pageSize: null, entitySets: {} },
  });
  const edit = (ids: readonly string[], name: string): void => {
    const touch = new Date().toISOString();
    for (const id of ids) records.patch({ table, id }, { fields: { [property]: shorten(name) }, touch });
  };
  return {
    ...{ url: new URL(service.serviceRoot).origin, kind: 'odata', kinds: connectorKinds },
    ...{ recordType: table, column: `f_${property.toLowerCase()}`, settings },
    secrets: secretOf(own),
    wrongSecrets: secretOf('guess'),
    create: async (names) =>
      names.map((name) => records.create({ table }, { fields: { [property]: shorten(name) } }).id),
    rename: async (ids, name) => edit(ids, name),
    remove: async (ids) => {
      for (const id of ids) records.remove({ table, id }, true);
    },
    truth: async () => {
      const all = new Map<string, string | null>();
      for (let after: string | undefined, isOver = false; !isOver; ) {
        const page = records.list({ table }, { limit: 1_000, ...(after !== undefined && { after }) });
        for (const { id, fields } of page.records) all.set(id, String(fields[property]));
        after = page.next ?? undefined;
        isOver = after === undefined;
      }
      return all;
    },
    stop: () => service.stop(),
  };
}

describeErp('Business Central’s API', () =>
  start({ profile: 'businessCentral', table: 'customers', property: 'displayName', shorten: (name) => name }),
);
describeErp(
  'SAP’s purchase orders',
  () =>
    start({
      ...{ profile: 'sap', table: 'PurchaseOrder', property: 'Supplier' },
      shorten: (name) => hash('sha256', name).slice(0, 10),
    }),
  { renews: false },
);
