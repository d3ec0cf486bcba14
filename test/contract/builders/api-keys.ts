import fc from 'fast-check';
import { makeKey } from '../../setup/organization.ts';
import { instants, laterInstants } from '../arbitrary.ts';
import type { BuilderGroup, Fixture } from '../builder.ts';

const ownKey = async ({ ctx, organization }: Fixture) => ({
  params: { id: (await makeKey(ctx, organization.id)).id },
});
/** A key whose secret ends because it was transferred. */
async function transferredKey(fixture: Fixture) {
  const own = await ownKey(fixture);
  const columns = {
    ceiling: [],
    transferred_from: 'former@example.test',
    secret_ends_at: '2100-01-01T00:00:00Z',
  };
  await fixture.sql((tx) => tx('api_keys').where(own.params).update(columns));
  return own;
}
const toDay = (instant: string): string => instant.slice(0, 10);
/** Every key reads records, which a role with one permission may not. */
const mayRefuse = ['escalation'];
/** A key's versions and resources must exist; the fixture has none. */
const none = fc.constant([]);
const fields = {
  'body.expiresAt': fc.option(laterInstants),
  'body.scopes.versions': none,
  'body.scopes.resources': none,
  'body.scopes.rows': fc.constantFrom(null, {}, { '*': [] }),
  'body.scopes.fields': fc.constantFrom(null, {}),
  // The walk's own key reads masked fields as masked.
  'body.scopes.unmasked': fc.constant(false),
};
const tokenFields = {
  'body.tokens[].scopes.versions': none,
  'body.tokens[].scopes.resources': none,
  'body.tokens[].scopes.rows': fc.constantFrom(null, {}, { '*': [] }),
  'body.tokens[].scopes.fields': fc.constantFrom(null, {}),
  'body.tokens[].scopes.unmasked': fc.constant(false),
};

export const apiKeyBuilders: BuilderGroup = {
  builders: {
    listApiKeys: { build: () => ({}) },
    createApiKey: {
      build: ({ next }) => ({ body: { name: `Key ${next()}` } }),
      fields,
      repeatable: true,
      mayRefuse,
    },
    getApiKey: { build: ownKey },
    updateApiKey: {
      build: async (fixture) => ({ ...(await ownKey(fixture)), body: { name: 'Other' } }),
      fields,
    },
    getApiKeyUsage: {
      build: ownKey,
      fields: { 'query.from': instants.map(toDay), 'query.to': laterInstants.map(toDay) },
    },
    deleteApiKey: { build: ownKey },
    rotateApiKey: {
      build: async (fixture) => ({ ...(await ownKey(fixture)), body: { gracePeriodSeconds: 60 } }),
      repeatable: true,
      mayRefuse,
    },
    keepApiKeySecret: { build: transferredKey, mayRefuse },
    mintApiKeyTokens: {
      build: async (fixture) => ({
        ...(await ownKey(fixture)),
        body: { tokens: [{ subject: 'customer:1042', scopes: {} }] },
      }),
      fields: tokenFields,
      repeatable: true,
      mayRefuse,
    },
    revokeApiKeyTokens: {
      build: async (fixture) => ({ ...(await ownKey(fixture)), query: { subject: 'customer:1042' } }),
    },
  },
};
