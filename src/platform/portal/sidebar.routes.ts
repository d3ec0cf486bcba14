import { defineRoute } from '../../http/route.ts';
import { Sidebar, SidebarInput } from './sidebar.schemas.ts';
import * as service from './sidebar.service.ts';

const group = 'Portal Config';

export const sidebarRoutes = [
  defineRoute({
    id: 'getSidebar',
    group,
    method: 'GET',
    path: '/portal/sidebar',
    permission: 'portal:read',
    summary: 'The sidebar of the portal',
    description: '`problems` names targets that are gone and pages that are not published.',
    response: Sidebar,
    handler: (ctx) => service.getSidebar(ctx),
  }),
  defineRoute({
    id: 'putSidebar',
    group,
    method: 'PUT',
    path: '/portal/sidebar',
    permission: 'portal:update',
    summary: 'Store the sidebar whole',
    description:
      'At most four levels and 200 items. A `view` points at the id of a view that everybody in the organization may see, a `page` at the ' +
      'id or slug of a page (answered as its id), a `record-type` at a synced record type, a `link` at an https address; a `group` points at nothing and has ' +
      'children. With `revision` the change is refused when somebody else has stored another meanwhile.',
    body: SidebarInput,
    example: {
      items: [
        { label: 'Invoices', icon: 'file-text', kind: 'record-type', target: 'invoice' },
        { label: 'Help', kind: 'group', children: [{ label: 'Terms', kind: 'link', target: 'https://acme.example/terms' }] },
      ],
      revision: 3,
    },
    response: Sidebar,
    handler: (ctx, { body }) => service.putSidebar(ctx, body),
  }),
];
