// The connector for OData v4, next to the simulated service's own records: Business Central's API and SAP's purchase orders.
import { hash } from 'node:crypto';
import { startODataSimulator } from 'odata-simulator';
import { connectorKinds } from '../../src/connectors/kinds.ts';
import type { OdataSettings } from '../../src/connectors/odata/connection.ts';
import { describeErp, type ForeignErp } from './suite.ts';

type Profile = {
  readonly profile: 'businessCentral' | 'sap' | 'generic';
  readonly table: string;
  /** The property that is the name, and what it may hold of one. */
  readonly property: string;
  readonly shorten: (name: string) => string;
  readonly entitySets?: OdataSettings['entitySets'];
};

type Credentials = Awaited<ReturnType<typeof startODataSimulator>>['credentials'];
function toSignIn(own: Credentials): {
  readonly signIn: OdataSettings['signIn'];
  readonly secrets: object;
  readonly wrongSecrets: object;
} {
  if (own.kind === 'oauth2') {
    const { tokenUrl, clientId, scope, clientSecret } = own;
    const signIn = { method: 'oauth2' as const, tokenUrl, clientId, scope, audience: null };
    return { signIn, secrets: { clientSecret }, wrongSecrets: { clientSecret: 'guess' } };
  }
  if (own.kind === 'header') {
    const signIn = { method: 'header' as const, name: own.name };
    return { signIn, secrets: { headerValue: own.value }, wrongSecrets: { headerValue: 'guess' } };
  }
  const { username: userName, password } = own;
  return {
    signIn: { method: 'basic', userName },
    secrets: { password },
    wrongSecrets: { password: 'guess' },
  };
}

async function start({ profile, table, property, shorten, entitySets = {} }: Profile): Promise<ForeignErp> {
  const service = await startODataSimulator({ profile, maxPageSize: 10 });
  const { records, credentials, companyPath } = service;
  const { pathname } = new URL(service.serviceRoot);
  const { signIn, secrets, wrongSecrets } = toSignIn(credentials);
  const settings = (url: string): OdataSettings => ({
    ...{ serviceRoot: url + pathname, dialect: profile, signIn, tenant: null, timeZone: 'UTC' },
    company: companyPath === '' ? null : { in: 'path', segment: companyPath.slice(0, -1) },
    ...{ pageSize: null, entitySets },
  });
  const edit = (ids: readonly string[], name: string): void => {
    const touch = new Date().toISOString();
    for (const id of ids) records.patch({ table, id }, { fields: { [property]: shorten(name) }, touch });
  };
  return {
    ...{ url: new URL(service.serviceRoot).origin, kind: 'odata', kinds: connectorKinds },
    ...{ recordType: table, column: `f_${property.toLowerCase()}`, settings },
    ...{ secrets, wrongSecrets },
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
describeErp(
  'a service that tracks changes, of orders without a time of modification',
  () =>
    start({
      ...{ profile: 'generic', table: 'Orders', property: 'Number', shorten: (name) => name },
      entitySets: { Orders: { changedField: null } },
    }),
  { renews: false },
);
