import { z } from 'zod';
import { IdParams, queryBoolean } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { lookUpAddress, viewAs } from './view-as.ts';
import {
  AddressLookup,
  Email,
  NewVisitor,
  ViewAs,
  ViewAsInput,
  Visitor,
  VisitorPatch,
} from './visitors.schemas.ts';
import * as service from './visitors.service.ts';

export const visitorRoutes = inGroup('Portal Config', [
  defineRoute('listPortalVisitors', 'GET /portal/visitors', {
    permission: 'portal:read',
    summary: 'List visitors',
    description:
      'Newest first: addresses with customers by hand, blocked ones, and those that were invited or signed in. Everyone whose address the ERP has is a ' +
      'visitor, also without an entry here. `q` searches in addresses.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      blocked: queryBoolean.optional(),
    }),
    response: createPageSchema(Visitor),
    handler: (ctx, { query: { q, blocked, ...page } }) => service.listVisitors(ctx, page, { q, blocked }),
  }),
  defineRoute('createPortalVisitor', 'POST /portal/visitors', {
    permission: 'portal:create',
    summary: 'Create a visitor',
    description:
      'Gives an address customers that the ERP does not name for it, such as those of an accountant, or blocks it.',
    body: NewVisitor,
    example: { email: 'ada@accountants.example', customers: ['1042', '1043'] },
    response: Visitor,
    status: 201,
    handler: (ctx, { body }) => service.createVisitor(ctx, body),
  }),
  defineRoute('lookUpPortalAddress', 'GET /portal/visitors/address', {
    permission: 'portal:read',
    readsRecords: true,
    summary: 'Look up an address',
    description:
      'The customers whose records a visitor with this address would see now. None: the address gets no code. Returns 422 while the ' +
      'portal is off.',
    query: z.strictObject({ email: Email }),
    response: AddressLookup,
    handler: (ctx, { query: { email } }) => lookUpAddress(ctx, email),
  }),
  defineRoute('viewPortalAsVisitor', 'POST /portal/visitors/view-as', {
    permission: 'portal:view-as',
    readsRecords: true,
    summary: 'See the portal as a visitor',
    description:
      'Returns a code that opens the portal for 30 minutes as the visitor would see it, without payments and subscriptions. It is in the ' +
      'audit log. Returns 422 while the portal is off, and for an address without customers.',
    body: ViewAsInput,
    example: { email: 'ada@customer.example' },
    response: ViewAs,
    status: 201,
    handler: (ctx, { body }) => viewAs(ctx, body),
  }),
  defineRoute('getPortalVisitor', 'GET /portal/visitors/{id}', {
    permission: 'portal:read',
    summary: 'Retrieve a visitor',
    description:
      'What the ERP does not know of the address. Which customers the ERP names for it is read at each request.',
    params: IdParams,
    response: Visitor,
    handler: (ctx, { params }) => service.getVisitor(ctx, params.id),
  }),
  defineRoute('updatePortalVisitor', 'PATCH /portal/visitors/{id}', {
    permission: 'portal:update',
    summary: 'Update a visitor',
    description: '`customers` replaces all customers by hand. A block takes effect with the next request.',
    params: IdParams,
    body: VisitorPatch,
    example: { blocked: true },
    response: Visitor,
    handler: (ctx, { params, body }) => service.updateVisitor(ctx, params.id, body),
  }),
  defineRoute('deletePortalVisitor', 'DELETE /portal/visitors/{id}', {
    permission: 'portal:delete',
    summary: 'Delete a visitor',
    description:
      'Forgets the customers by hand, the block and the invitation, and deletes the questions that the visitor asked. An address that the ERP has stays a visitor.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteVisitor(ctx, params.id),
  }),
]);
