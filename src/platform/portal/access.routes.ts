import { defineRoute, inGroup } from '../../http/route/define.ts';
import { PortalAccess, PortalAccessInput } from './access.schemas.ts';
import * as service from './access.service.ts';

export const accessRoutes = inGroup('Portal Config', [
  defineRoute('getPortalAccess', 'GET /portal/access', {
    permission: 'portal:read',
    summary: 'Retrieve the access to the portal',
    description:
      'Whom the portal knows, and which records it shows them. Before anything was saved (`revision` 0) it is a proposal for what is synced. ' +
      '`figures` counts customers with and without an address, and addresses that several of them share.',
    showsRecords: true,
    response: PortalAccess,
    handler: (ctx) => service.getAccess(ctx),
  }),
  defineRoute('putPortalAccess', 'PUT /portal/access', {
    permission: 'portal:update',
    summary: 'Replace the access to the portal',
    description:
      '`people` says where the addresses of visitors stand: on the customers or on their contacts. `records` says what they see: the ' +
      'records whose `customerField` is their customer, and what the fields mean. Enabled settings are checked, and then made ready in ' +
      'the background: indexes are built and every read is tried. Until then visitors see what was ready before. With `revision`, the ' +
      'update is rejected if the settings have changed since.',
    body: PortalAccessInput,
    example: {
      enabled: true,
      people: [
        {
          recordType: 'customer',
          emailField: 'email',
          customerField: 'id',
          conditions: [{ field: 'isinactive', in: ['false'] }],
        },
      ],
      records: [
        {
          recordType: 'invoice',
          customerField: 'entity',
          role: 'invoice',
          fields: { number: 'tranid', date: 'trandate', amount: 'foreigntotal' },
        },
      ],
      revision: 0,
    },
    response: PortalAccess,
    status: 202,
    handler: (ctx, { body }) => service.putAccess(ctx, body),
  }),
  defineRoute('cancelPortalPreparation', 'POST /portal/access/cancel-preparation', {
    permission: 'portal:update',
    summary: 'Cancel the preparation of the portal',
    description:
      'Goes back to the settings that visitors see now; without any, the portal is off. Returns 422 when nothing is being made ready.',
    response: PortalAccess,
    handler: (ctx) => service.cancelPreparation(ctx),
  }),
]);
