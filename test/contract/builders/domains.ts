import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { type BuilderGroup, type Fixture, insertRow } from '../builder.ts';

const own = ({ organization }: Fixture) => ({ id: organization.id });
const hostname = fc.stringMatching(/^[a-z]{12,20}$/).map((label) => `${label}.example`);

/**
 * An organization may have 200, which the walk would reach. The latest are kept, since concurrent requests
 * use them.
 */
const makeRoom = ({ sql }: Fixture) =>
  sql((tx) =>
    tx('domains').whereNotIn('id', tx('domains').select('id').orderBy('id', 'desc').limit(100)).delete(),
  );

const ofDomain = async (fixture: Fixture) => {
  const hostname = `${createId()}.example`;
  const verified = {
    status: 'verified',
    verified_at: new Date(),
    verification_value: `portal-verification=${hostname}`,
  };
  return {
    params: { ...own(fixture), domainId: await insertRow(fixture, 'domains', { hostname, ...verified }) },
  };
};

export const domainBuilders: BuilderGroup = {
  builders: {
    listDomains: { build: (fixture) => ({ params: own(fixture) }) },
    createDomain: {
      build: async (fixture) => {
        await makeRoom(fixture);
        return { params: own(fixture), body: { hostname: `${createId()}.example` } };
      },
      fields: { 'body.hostname': hostname },
    },
    getDomain: { build: ofDomain },
    updateDomain: { build: async (fixture) => ({ ...(await ofDomain(fixture)), body: { isPrimary: true } }) },
    deleteDomain: { build: ofDomain },
    verifyDomain: { build: ofDomain },
  },
};
