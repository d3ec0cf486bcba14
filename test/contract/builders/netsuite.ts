// The organization is connected to the simulated ERP. There is one connection, so requests that replace it
// must not overlap.
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
      .join('erp_certificates as k', 'k.organization_id', 'c.organization_id')
      .where({ 'c.organization_id': id, 'k.active': true })
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
    tx('erp_metadata').where({ organization_id: fixture.organization.id }).first('organization_id'),
  );
  if (held !== undefined) return;
  await connected(fixture);
  await fixture.api('POST', '/netsuite/metadata/refresh');
}

export const netsuiteBuilders: BuilderGroup = {
  builders: {
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
