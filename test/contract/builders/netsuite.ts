// The organization is connected to the simulated ERP. Requests that replace its connections must not overlap.
import fc from 'fast-check';
import type { Api } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import type { BuilderGroup, Fixture } from '../builder.ts';

const secrets = { consumerSecret: 'consumer-5ecret-0123456789', tokenSecret: 'token-5ecret-0123456789' };
const connection = async (fixture: Fixture) => ({
  accountId,
  baseUrl: (await fixture.erp()).account.url,
  authentication: { method: 'tba', consumerKey: 'consumer key', tokenId: 'token id', ...secrets },
});

/** Connects again if another request has replaced or deleted the connection. */
async function connected(fixture: Fixture): Promise<Record<string, never>> {
  const { id } = fixture.organization;
  const signing = await fixture.sql((tx) =>
    tx('erp_connections as c')
      .join('erp_certificates as k', (on) =>
        on.on('k.organization_id', 'c.organization_id').on('k.connection', 'c.name'),
      )
      .where({ 'c.organization_id': id, 'c.name': 'netsuite', 'k.active': true })
      .whereRaw("c.settings -> 'authentication' ->> 'certificateId' = k.certificate_id")
      .first('c.account_id'),
  );
  if (signing !== undefined) return {};
  const erp = await fixture.erp();
  await erp.connect(
    (method, path, body) => fixture.api(method.toUpperCase(), path, body) as unknown as ReturnType<Api>,
  );
  return {};
}

const names = fc.stringMatching(/^[A-Za-z0-9]{1,40}$/);
const authentications = fc.oneof(
  fc.record(
    { method: fc.constant('oauth2'), clientId: names, certificateId: fc.constant(null) },
    { requiredKeys: ['method', 'clientId'] },
  ),
  fc.record({
    method: fc.constant('tba'),
    consumerKey: names,
    tokenId: names,
    consumerSecret: names,
    tokenSecret: names,
  }),
);
/** Deleting the connection deletes the stored metadata of the account. */
export async function known(fixture: Fixture): Promise<void> {
  const held = await fixture.sql((tx) =>
    tx('erp_connections')
      .where({ organization_id: fixture.organization.id, name: 'netsuite' })
      .whereNotNull('listed_at')
      .first('name'),
  );
  if (held !== undefined) return;
  await connected(fixture);
  await fixture.api('POST', '/netsuite/metadata/refresh');
}

const signIns = authentications.map(({ method, ...rest }) =>
  method === 'tba' ? { method, consumerKey: 'consumer key', tokenId: 'token id' } : { method, ...rest },
);

/** As a body of POST /connections. */
async function named(fixture: Fixture, name: string) {
  const { authentication, ...account } = await connection(fixture);
  const { consumerSecret, tokenSecret, ...signIn } = authentication;
  return {
    ...{ name, kind: 'netsuite' },
    settings: { ...account, authentication: signIn },
    secrets: { consumerSecret, tokenSecret },
  };
}
const other = 'other';
/** There are few names for many inputs. */
const withoutOthers = (fixture: Fixture): Promise<unknown> =>
  fixture.sql((tx) =>
    tx('erp_connections')
      .where({ organization_id: fixture.organization.id })
      .whereNot({ name: 'netsuite' })
      .delete(),
  );
async function another(fixture: Fixture) {
  await withoutOthers(fixture);
  await fixture.api('POST', '/connections', await named(fixture, other));
  return { params: { connection: other } };
}
const own = { params: { connection: 'netsuite' } };
const kinds = {
  'body.kind': fc.constant('netsuite'),
  'body.settings': fc.record({ accountId: fc.constant(accountId), authentication: signIns }),
  'body.secrets': fc.record({ consumerSecret: names, tokenSecret: names }),
};

export const netsuiteBuilders: BuilderGroup = {
  builders: {
    listConnections: { build: async (fixture) => (await connected(fixture), {}) },
    createConnection: {
      build: async (fixture) => (await withoutOthers(fixture), { body: await named(fixture, other) }),
      fields: () => ({ ...kinds, 'body.name': fc.constant(other) }),
      alone: true,
    },
    getConnection: { build: another, alone: true },
    updateConnection: {
      build: async (fixture) => {
        const { name: _, ...body } = await named(fixture, other);
        return { ...(await another(fixture)), body };
      },
      fields: () => ({ ...kinds, 'params.connection': fc.constant(other) }),
      alone: true,
    },
    deleteConnection: {
      build: another,
      fields: ({ organization }) => ({
        'params.connection': fc.constant(other),
        'query.purge': fc.constant(organization.slug),
      }),
      alone: true,
    },
    createConnectionCertificate: { build: another, repeatable: true, alone: true },
    testConnection: {
      build: async (fixture) => (await connected(fixture), own),
      ...{ repeatable: true, alone: true, inputs: 2 },
    },
    getConnectionMetadata: { build: async (fixture) => (await known(fixture), own) },
    getConnectionRecordType: {
      build: async (fixture) => (await known(fixture), { params: { ...own.params, recordType: 'invoice' } }),
    },
    refreshConnectionMetadata: {
      build: async (fixture) => (await connected(fixture), own),
      ...{ repeatable: true, alone: true, inputs: 2 },
    },
    getErpConnection: {
      build: async (fixture) => (
        await fixture.api('PUT', '/netsuite/connection', await connection(fixture)), {}
      ),
    },
    putErpConnection: {
      build: async (fixture) => ({ body: await connection(fixture) }),
      fields: async (fixture) => ({
        'body.accountId': fc.constant(accountId),
        'body.baseUrl': fc.constantFrom(null, (await fixture.erp()).account.url),
        'body.authentication': authentications,
      }),
      alone: true,
    },
    deleteErpConnection: {
      build: async (fixture) => (
        await fixture.api('PUT', '/netsuite/connection', await connection(fixture)), {}
      ),
      fields: ({ organization }) => ({ 'query.purge': fc.constant(organization.slug) }),
      alone: true,
    },
    createErpCertificate: { build: () => ({}), repeatable: true, alone: true },
    // Round trips to the ERP on one signed-in connection.
    testErpConnection: { build: connected, repeatable: true, alone: true, inputs: 2 },
    getErpMetadata: { build: async (fixture) => (await known(fixture), {}) },
    getErpRecordType: {
      build: async (fixture) => (await known(fixture), { params: { recordType: 'invoice' } }),
    },
    refreshErpMetadata: { build: connected, repeatable: true, alone: true, inputs: 2 },
  },
};
