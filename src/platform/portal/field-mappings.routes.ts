import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { FieldMapping, FieldMappingChange, NewFieldMapping } from './field-mappings.schemas.ts';
import * as service from './field-mappings.service.ts';

const group = 'Portal Config';
const fields = [
  { source: 'tranid', label: 'Number' },
  { source: 'trandate', label: 'Date', format: { type: 'date', style: 'medium' } },
  { source: 'entity.name', label: 'Customer' },
  { source: 'foreigntotal', label: 'Total', format: { type: 'currency', currency: 'EUR', digits: 2 } },
];

export const fieldMappingRoutes = [
  defineRoute({
    id: 'listFieldMappings',
    group,
    method: 'GET',
    path: '/portal/field-mappings',
    permission: 'portal:read',
    summary: 'Field mappings, newest first',
    description: '`problems` names fields that are no longer synced.',
    query: z.strictObject({ ...pageFields, recordType: z.string().min(1).max(200).optional() }),
    response: pageOf(FieldMapping),
    handler: (ctx, { query: { recordType, ...page } }) => service.listFieldMappings(ctx, page, recordType),
  }),
  defineRoute({
    id: 'createFieldMapping',
    group,
    method: 'POST',
    path: '/portal/field-mappings',
    permission: 'portal:create',
    summary: 'Say how the fields of a record type are shown',
    description:
      'One mapping for each record type. Every source must be synced, and its format must fit its type: `text` fits all but lines; ' +
      '`number` and `currency` fit numbers; `date` fits dates and instants; `date-time` instants; `yes-no` booleans.',
    body: NewFieldMapping,
    example: { recordType: 'invoice', fields },
    response: FieldMapping,
    status: 201,
    handler: (ctx, { body }) => service.createFieldMapping(ctx, body),
  }),
  defineRoute({
    id: 'getFieldMapping',
    group,
    method: 'GET',
    path: '/portal/field-mappings/{id}',
    permission: 'portal:read',
    summary: 'One field mapping',
    description: 'With its fields in their order.',
    params: IdParams,
    response: FieldMapping,
    handler: (ctx, { params }) => service.getFieldMapping(ctx, params.id),
  }),
  defineRoute({
    id: 'updateFieldMapping',
    group,
    method: 'PATCH',
    path: '/portal/field-mappings/{id}',
    permission: 'portal:update',
    summary: 'Change the fields of a mapping',
    description: '`fields` replaces all of them. The record type stays.',
    params: IdParams,
    body: FieldMappingChange,
    example: { fields },
    response: FieldMapping,
    handler: (ctx, { params, body }) => service.changeFieldMapping(ctx, params.id, body),
  }),
  defineRoute({
    id: 'deleteFieldMapping',
    group,
    method: 'DELETE',
    path: '/portal/field-mappings/{id}',
    permission: 'portal:delete',
    summary: 'Delete a field mapping',
    description: 'The portal then shows the fields under their own names.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteFieldMapping(ctx, params.id),
  }),
];
