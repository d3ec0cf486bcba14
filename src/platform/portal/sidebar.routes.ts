import { defineRoute, inGroup } from '../../http/route/define.ts';
import { Sidebar, SidebarInput } from './sidebar.schemas.ts';
import * as service from './sidebar.service.ts';

export const sidebarRoutes = inGroup('Portal Config', [
  defineRoute('getSidebar', 'GET /portal/sidebar', {
    permission: 'portal:read',
    summary: 'Retrieve the sidebar',
    description: '`problems` names targets that no longer exist and pages that are not published.',
    response: Sidebar,
    handler: (ctx) => service.getSidebar(ctx),
  }),
  defineRoute('putSidebar', 'PUT /portal/sidebar', {
    permission: 'portal:update',
    summary: 'Replace the sidebar',
    description:
      'At most four levels and 200 items. The target of a `view` is the id of a view that everyone in the organization can see; of a ' +
      '`page`, the id or slug of a page (returned as its id); of a `record-type`, a synced record type; of a `link`, an https address. ' +
      'A `group` has children and no target. With `revision`, the update is rejected if the sidebar has changed since that revision.',
    body: SidebarInput,
    example: {
      items: [
        { label: 'Invoices', icon: 'file-text', kind: 'record-type', target: 'invoice' },
        {
          label: 'Help',
          kind: 'group',
          children: [{ label: 'Terms', kind: 'link', target: 'https://acme.example/terms' }],
        },
      ],
      revision: 3,
    },
    response: Sidebar,
    handler: (ctx, { body }) => service.putSidebar(ctx, body),
  }),
]);
