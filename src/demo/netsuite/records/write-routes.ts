// POST, PATCH, PUT and DELETE of records. Every one answers 204 and tells nothing but where a new record is.
import { type Request, type Response, Router } from 'express';
import type { RoleView } from '../tables/role-view.ts';
import { originOf } from '../wire.ts';
import { canWrite, externalIdOf, findId, requireType } from './record-path.ts';
import type { RecordType } from './record-types.ts';
import { noInstance, notAllowed } from './refusals.ts';
import { transformRecord } from './transform.ts';
import { NAME_CHECK_HEADER, parseBody, readNameCheck, readWriteBody, type WriteBody } from './write-body.ts';
import { changeRecord, createRecord, putRecord, removeRecord, type WriteSettings } from './write-record.ts';

export function writeRoutes(settings: WriteSettings, role: RoleView): Router {
  const router = Router();
  const parts = { settings, role };
  router.post('/:type', (request, response) => create(parts, request, response));
  router.patch('/:type/:id', (request, response) => patch(parts, request, response));
  router.put('/:type/:id', (request, response) => put(parts, request, response));
  router.delete('/:type/:id', (request, response) => remove(parts, request, response));
  router.post('/:type/:id/\\!transform/:target', (request, response) => transform(parts, request, response));
  return router;
}

type Parts = { settings: WriteSettings; role: RoleView };

async function create({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = requireWritable(role, request);
  const body = readBody(type, request, response);
  answerMade(request, response, type, await createRecord(settings, type, body));
}

async function patch({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = requireWritable(role, request);
  const body = readBody(type, request, response);
  const id = await findId(settings.pool, type, request);
  await changeRecord(settings, { type, id }, body, replacedSublists(request));
  response.status(204).end();
}

/** By external id alone. */
async function put({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = requireWritable(role, request);
  const externalId = externalIdOf(request);
  if (externalId === undefined) throw noInstance(type);
  const body = readBody(type, request, response);
  answerMade(request, response, type, await putRecord(settings, type, externalId, body, replacedSublists(request)));
}

async function remove({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = requireWritable(role, request);
  await removeRecord(settings, { type, id: await findId(settings.pool, type, request) });
  response.status(204).end();
}

async function transform({ settings, role }: Parts, request: Request, response: Response): Promise<void> {
  const type = requireType(role, request);
  const target = requireType(role, request, String(request.params['target']));
  const body = readBody(target, request, response, '{}');
  const id = await findId(settings.pool, type, request);
  answerMade(request, response, target, await transformRecord(settings, { type, id }, target, body));
}

function requireWritable(role: RoleView, request: Request): RecordType {
  const type = requireType(role, request);
  if (!canWrite(type)) throw notAllowed(request.method);
  return type;
}

function readBody(type: RecordType, request: Request, response: Response, ifEmpty = ''): WriteBody {
  const text = typeof request.body === 'string' && request.body !== '' ? request.body : ifEmpty;
  const nameCheck = readNameCheck(request.get(NAME_CHECK_HEADER));
  const body = readWriteBody(type, parseBody(text), nameCheck);
  if (nameCheck === 'Warning' && body.unknownNames.length > 0) response.set('X-NetSuite-PropertyValidation', body.unknownNames.join(', '));
  return body;
}

/** `replace=item,apply` */
const replacedSublists = (request: Request): Set<string> => new Set(String(request.query['replace'] ?? '').split(','));

function answerMade(request: Request, response: Response, type: RecordType, id: string): void {
  response
    .set('location', `${originOf(request)}${request.baseUrl}/${type.name.toLowerCase()}/${id}`)
    .status(204)
    .end();
}
