import fc from 'fast-check';
import { makeKey, makeMember, makeSession } from '../../setup/organization.ts';
import { asBuilt, type BuilderGroup } from '../builder.ts';

export const whoamiBuilders: BuilderGroup = {
  builders: {
    getWhoAmI: { build: () => ({}) },
    listMyOrganizations: { build: () => ({}) },
    listMySessions: { build: () => ({}) },
    chooseActiveOrganization: {
      build: ({ organization }) => ({ body: { organizationId: organization.id } }),
      fields: { 'body.organizationId': asBuilt },
      repeatable: true,
    },
    // Sessions of one person, who may have no organization: the audit log is written if the session has one.
    endMySession: {
      build: async ({ ctx, owner }) => ({ params: { id: (await makeSession(ctx, owner.id)).id } }),
      auditRows: 0,
    },
    endMyOtherSessions: { build: () => ({}), auditRows: 0, destroys: true },
    leaveOrganization: {
      build: async ({ ctx, organization, owner }) => {
        const heir = await makeMember(ctx, organization.id, 'owner');
        await makeKey(ctx, organization.id, { createdBy: owner.id });
        return {
          params: { id: organization.id },
          query: { keys: 'transfer', transferTo: heir.id, gracePeriodSeconds: '3600' },
        };
      },
      fields: { 'query.keys': asBuilt, 'query.transferTo': asBuilt, 'query.gracePeriodSeconds': asBuilt },
      destroys: true,
    },
  },
};

/** Creating organizations gives the owner several, so this needs its own owner. */
export const newOrganizationBuilders: BuilderGroup = {
  builders: {
    createOrganization: {
      build: ({ next }) => ({ body: { name: `Organization ${next()}` } }),
      fields: { 'body.slug': fc.stringMatching(/^[a-z][a-z0-9]{11}$/) },
      repeatable: true,
      inputs: 20,
    },
  },
};
