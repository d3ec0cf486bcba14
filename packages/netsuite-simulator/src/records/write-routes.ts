// POST, PATCH, PUT and DELETE of records. Every response is a 204 without a body; Location is the URL of a
// created record.
import { type Request, type Response, Router } from 'express';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { getOrigin } from '../wire.ts';
import { assertRecordWritable, assertReferencesVisible } from './assert-visible.ts';
import { methodNotAllowed, recordNotFound } from './record-errors.ts';
import { canWrite, getRecordId, getVisibleType, parseExternalId } from './record-path.ts';
import type { RestRecordType } from './record-type.ts';
import { findByExternalId } from './references.ts';
import { transformRecord } from './transform.ts';
import {
  NAME_CHECK_HEADER,
  parseJsonBody,
  parseNameCheck,
  parseWriteBody,
  type WriteBody,
} from './write-body.ts';
import {
  createRecord,
  deleteRecord,
  updateRecord,
  upsertRecord,
  type WriteSettings,
} from './write-record.ts';

/** The routes throw RestError: 405 for a read-only type, and as the functions of write-record.ts do. */
export function writeRoutes(settings: WriteSettings, role: RoleVisibility): Router {
  const router = Router();
  const parts = { settings, role };
  router.post('/:type', (request, response) => handlePost(parts, request, response));
  router.patch('/:type/:id', (request, response) => handlePatch(parts, request, response));
  router.put('/:type/:id', (request, response) => handlePut(parts, request, response));
  router.delete('/:type/:id', (request, response) => handleDelete(parts, request, response));
  router.post('/:type/:id/\\!transform/:target', (request, response) =>
    handleTransform(parts, request, response),
  );
  return router;
}

type Parts = { settings: WriteSettings; role: RoleVisibility };

async function handlePost({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = getWritableType(role, request);
  const body = await readBody({ settings, role }, type, request, response);
  sendLocation(request, response, type, await createRecord(settings, type, body));
}

async function handlePatch({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = getWritableType(role, request);
  const body = await readBody({ settings, role }, type, request, response);
  const id = await getRecordId(settings.pool, role, type, request);
  await updateRecord(settings, { type, id }, body, replacedSublists(request));
  response.status(204).end();
}

/** PUT accepts external ids only. */
async function handlePut({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = getWritableType(role, request);
  const externalId = parseExternalId(request);
  if (externalId === undefined) throw recordNotFound(type);
  const existing = await findByExternalId(settings.pool, type, externalId);
  if (existing !== undefined) await assertRecordWritable({ pool: settings.pool, role }, type, existing);
  const body = await readBody({ settings, role }, type, request, response);
  sendLocation(
    request,
    response,
    type,
    await upsertRecord(settings, type, externalId, body, replacedSublists(request)),
  );
}

async function handleDelete({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = getWritableType(role, request);
  await deleteRecord(settings, { type, id: await getRecordId(settings.pool, role, type, request) });
  response.status(204).end();
}

async function handleTransform(
  { settings, role }: Parts,
  request: Request,
  response: Response,
): Promise<void> {
  const type = getVisibleType(role, request);
  const target = getVisibleType(role, request, String(request.params['target']));
  const body = await readBody({ settings, role }, target, request, response, '{}');
  const id = await getRecordId(settings.pool, role, type, request);
  sendLocation(request, response, target, await transformRecord(settings, { type, id }, target, body));
}

function getWritableType(role: RoleVisibility, request: Request): RestRecordType {
  const type = getVisibleType(role, request);
  if (!canWrite(type)) throw methodNotAllowed(request.method);
  return type;
}

async function readBody(
  { settings, role }: Parts,
  type: RestRecordType,
  request: Request,
  response: Response,
  ifEmpty = '',
): Promise<WriteBody> {
  const text = typeof request.body === 'string' && request.body !== '' ? request.body : ifEmpty;
  const nameCheck = parseNameCheck(request.get(NAME_CHECK_HEADER));
  const body = parseWriteBody(type, parseJsonBody(text), nameCheck);
  if (nameCheck === 'Warning' && body.unknownNames.length > 0)
    response.set('X-NetSuite-PropertyValidation', body.unknownNames.join(', '));
  await assertReferencesVisible({ pool: settings.pool, role }, type, body);
  return body;
}

/** Parses `replace=item,apply`. */
const replacedSublists = (request: Request): Set<string> =>
  new Set(String(request.query['replace'] ?? '').split(','));

function sendLocation(request: Request, response: Response, type: RestRecordType, id: string): void {
  response
    .set('location', `${getOrigin(request)}${request.baseUrl}/${type.name.toLowerCase()}/${id}`)
    .status(204)
    .end();
}
