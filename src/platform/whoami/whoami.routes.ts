import { allPermissions } from '../../core/permissions.ts';
import { instant } from '../../http/fields.ts';
import { defineRoute } from '../../http/route.ts';
import { WhoAmI } from './whoami.schemas.ts';
import { readMetrics } from './whoami.store.ts';

export const whoamiRoutes = [
  defineRoute({
    id: 'getWhoAmI',
    group: 'Identity',
    method: 'GET',
    path: '/whoami',
    permission: 'any',
    summary: 'Who is calling, for which organization, with which permissions',
    description: "The same for key, token and session. The organization's id is the tenant id of the public interface.",
    response: WhoAmI,
    handler: async (ctx) => {
      const { user, organization, role, permissions, credential } = ctx.principal;
      const { storage, activeUsers, activeKeys, resetsAt } = await readMetrics(ctx);
      return {
        user,
        organization,
        membership: { role },
        credential,
        permissions: allPermissions.filter((permission) => permissions.has(permission)),
        metrics: {
          monthlyActiveUsers: activeUsers,
          storage,
          activeApiKeys: activeKeys,
          // Nothing is granted while the organization has no agents to spend it.
          agentCredits: { granted: 0, used: 0, remaining: 0, resetsAt: instant(resetsAt) },
        },
      };
    },
  }),
];
