// The requests of the control interface: method, path, and what they do. Answers are JSON with status 200
// unless said otherwise.
import type { Request, Router } from 'express';
import { z } from 'zod';
import { ClockBody } from './clock.ts';
import { type Control, parseLimit } from './control.ts';
import { FaultsBody } from './faults.ts';
import { changeField, createField, FieldChange, NewField, removeField } from './fields.ts';
import { createControlRouter, type Method, type Route } from './guarded-server.ts';
import { HiddenBody } from './hidden.ts';
import { LoadBody } from './load.ts';
import { parseBody, parseId, parseValue } from './parse.ts';
import { NewRecord } from './records/create-record.ts';
import { RecordEdit } from './records/edit-record.ts';
import { RoleBody } from './role.ts';

const Nothing = z.strictObject({});
const ListQuery = z.strictObject({ after: z.string().optional(), limit: z.string().optional() });
const RemoveQuery = z.strictObject({ listed: z.literal(['true', 'false']).optional() });

const parameter = (request: Request, name: string): string => String(request.params[name] ?? '');
const parseRecordPath = (request: Request): [table: string, id: string] => [
  parameter(request, 'table'),
  parseId(parameter(request, 'id')),
];

const stateRoutes = (control: Control): Route[] => {
  const put = (method: Method, path: string, work: (request: Request) => unknown): Route => ({
    method,
    path,
    async handle(request) {
      await work(request);
      return control.state();
    },
  });
  return [
    { method: 'get', path: '/state', handle: control.state },
    { method: 'get', path: '/tables', handle: control.tables },
    put('post', '/reset', (request) => {
      parseBody(Nothing, request);
      return control.reset();
    }),
    put('post', '/books/keep', (request) => {
      parseBody(Nothing, request);
      return control.keepBooks();
    }),
    put('put', '/hidden', (request) => control.hide(parseBody(HiddenBody, request))),
    put('put', '/faults', (request) => control.putFaults(parseBody(FaultsBody, request))),
    put('post', '/role', (request) => control.setRole(parseBody(RoleBody, request))),
    put('post', '/clock', (request) => control.setClock(parseBody(ClockBody, request))),
    put('post', '/load', (request) => control.setLoad(parseBody(LoadBody, request))),
    {
      method: 'post',
      path: '/certificate/revoke',
      handle(request) {
        parseBody(Nothing, request);
        return control.revokeCertificates();
      },
    },
  ];
};

const recordRoutes = ({ records }: Control): Route[] => [
  {
    method: 'get',
    path: '/records/:table',
    handle(request) {
      const { after, limit } = parseValue(ListQuery, request.query);
      return records.list(parameter(request, 'table'), {
        after: after === undefined ? undefined : parseId(after, 'after'),
        limit: parseLimit(limit),
      });
    },
  },
  {
    method: 'post',
    path: '/records/:table',
    status: 201,
    handle: (request) => records.create(parameter(request, 'table'), parseBody(NewRecord, request)),
  },
  {
    method: 'get',
    path: '/records/:table/:id',
    handle: (request) => records.get(...parseRecordPath(request)),
  },
  {
    method: 'patch',
    path: '/records/:table/:id',
    handle: (request) => records.patch(...parseRecordPath(request), parseBody(RecordEdit, request)),
  },
  {
    method: 'delete',
    path: '/records/:table/:id',
    handle: (request) =>
      records.remove(...parseRecordPath(request), parseValue(RemoveQuery, request.query).listed !== 'false'),
  },
  {
    method: 'post',
    path: '/records/:table/:id/restore',
    handle(request) {
      parseBody(Nothing, request);
      return records.restore(...parseRecordPath(request));
    },
  },
];

const fieldRoutes = ({ fieldParts }: Control): Route[] => [
  {
    method: 'post',
    path: '/fields',
    status: 201,
    handle: (request) => createField(fieldParts(), parseBody(NewField, request)),
  },
  {
    method: 'patch',
    path: '/fields/:table/:name',
    handle: (request) =>
      changeField(
        fieldParts(),
        parameter(request, 'table'),
        parameter(request, 'name'),
        parseBody(FieldChange, request),
      ),
  },
  {
    method: 'delete',
    path: '/fields/:table/:name',
    handle: (request) => removeField(fieldParts(), parameter(request, 'table'), parameter(request, 'name')),
  },
];

/** The routes throw ControlError, 405 for another method of a known path included. */
export const controlRoutes = (control: Control): Router =>
  createControlRouter([...stateRoutes(control), ...recordRoutes(control), ...fieldRoutes(control)]);
