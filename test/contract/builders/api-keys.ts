import fc from 'fast-check';
import { makeKey } from '../../setup/organization.ts';
import { laterInstants } from '../arbitrary.ts';
import type { BuilderGroup, Fixture } from '../builder.ts';

const ownKey = async ({ ctx, organization }: Fixture) => ({ params: { id: (await makeKey(ctx, organization.id)).id } });
const expiresAt = { 'body.expiresAt': fc.option(laterInstants) };

export const apiKeyBuilders: BuilderGroup = {
  builders: {
    listApiKeys: { build: () => ({}) },
    createApiKey: { build: ({ next }) => ({ body: { name: `Key ${next()}` } }), fields: expiresAt, repeatable: true },
    getApiKey: { build: ownKey },
    updateApiKey: { build: async (fixture) => ({ ...(await ownKey(fixture)), body: { name: 'Other' } }), fields: expiresAt },
    deleteApiKey: { build: ownKey },
    rotateApiKey: { build: async (fixture) => ({ ...(await ownKey(fixture)), body: { gracePeriodSeconds: 60 } }), repeatable: true },
  },
};
