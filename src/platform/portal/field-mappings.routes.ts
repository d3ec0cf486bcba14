import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { FieldMapping, FieldMappingPatch, NewFieldMapping } from './field-mappings.schemas.ts';
import * as service from './field-mappings.service.ts';

const fields = [
  { source: 'tranid', label: 'Number' },
  { source: 'trandate', label: 'Date', format: { type: 'date', style: 'medium' } },
  { source: 'entity.name', label: 'Customer' },
  { source: 'foreigntotal', label: 'Total', format: { type: 'currency', currency: 'EUR', digits: 2 } },
];

export const fieldMappingRoutes = inGroup('Portal Config', [
  defineRoute('listFieldMappings', 'GET /portal/field-mappings', {
    permission: 'portal:read',
    summary: 'List field mappings',
    description: 'Newest first. `problems` names fields that are no longer synced.',
    query: z.strictObject({ ...pageFields, recordType: z.string().min(1).max(200).optional() }),
    response: createPageSchema(FieldMapping),
    handler: (ctx, { query: { recordType, ...page } }) => service.listFieldMappings(ctx, page, recordType),
  }),
  defineRoute('createFieldMapping', 'POST /portal/field-mappings', {
    permission: 'portal:create',
    summary: 'Create a field mapping',
    description:
      'Defines how the portal shows the fields of a record type, with one mapping per record type. Every source must be synced, and its ' +
      'format must fit its type: `text` fits all but lines; `number` and `currency` fit numbers; `date` fits dates and instants; ' +
      '`date-time` fits instants; `yes-no` fits booleans.',
    body: NewFieldMapping,
    example: { recordType: 'invoice', fields },
    response: FieldMapping,
    status: 201,
    handler: (ctx, { body }) => service.createFieldMapping(ctx, body),
  }),
  defineRoute('getFieldMapping', 'GET /portal/field-mappings/{id}', {
    permission: 'portal:read',
    summary: 'Retrieve a field mapping',
    description: 'Its fields are ordered by position.',
    params: IdParams,
    response: FieldMapping,
    handler: (ctx, { params }) => service.getFieldMapping(ctx, params.id),
  }),
  defineRoute('updateFieldMapping', 'PATCH /portal/field-mappings/{id}', {
    permission: 'portal:update',
    summary: 'Update a field mapping',
    description: '`fields` replaces all fields. The record type cannot change.',
    params: IdParams,
    body: FieldMappingPatch,
    example: { fields },
    response: FieldMapping,
    handler: (ctx, { params, body }) => service.updateFieldMapping(ctx, params.id, body),
  }),
  defineRoute('deleteFieldMapping', 'DELETE /portal/field-mappings/{id}', {
    permission: 'portal:delete',
    summary: 'Delete a field mapping',
    description: 'The portal then shows the fields under their own names.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteFieldMapping(ctx, params.id),
  }),
]);
