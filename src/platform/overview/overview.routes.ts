import { defineRoute, inGroup } from '../../http/route/define.ts';
import { Overview } from './overview.schemas.ts';
import { readOverview } from './overview.service.ts';

export const overviewRoutes = inGroup('Organizations', [
  defineRoute('getOverview', 'GET /overview', {
    permission: 'authenticated',
    summary: 'Retrieve an overview of the organization',
    description:
      'What needs attention, and the state of the connection, the syncs, the versions, the keys and the payments, in one answer for a first ' +
      'screen. A part is null when the caller lacks its permission, and its problems are absent. Returns 403 for a caller without an ' +
      'organization. Nothing is requested from the ERP.',
    response: Overview,
    handler: readOverview,
  }),
]);
