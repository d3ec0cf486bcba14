// /services/rest/record/v1: the metadata catalogue and the records, to be read. Writing to them comes as further routes here.
import { type Request, type Response, Router } from 'express';
import { inSnapshot, type QuerySettings } from '../database/snapshot.ts';
import { pageLinks, readPage } from '../paging.ts';
import { originOf, Refusal, sendCollection, sendJson, sendSingle } from '../wire.ts';
import { catalogEntry, linkSchema, schemaOf } from './metadata.ts';
import { listIds, readLines, readRecord, type RecordBody } from './read-record.ts';
import { findRecordType, RECORD_TYPES, type RecordType } from './record-types.ts';

/** Live record lists never show more than this many pages. */
const MOST_PAGES = 1000;
const SCHEMA = 'application/schema+json';

export function recordRoutes(settings: QuerySettings): Router {
  const router = Router();
  router.get('/metadata-catalog', (request, response) => listCatalog(request, response));
  router.get('/metadata-catalog/:type', (request, response) => describeType(request, response));
  router.get('/:type', (request, response) => listRecords(settings, request, response));
  router.get('/:type/:id', (request, response) => getRecord(settings, request, response));
  router.get('/:type/:id/item', (request, response) => getLines(settings, request, response));
  router.all('/:type{/*rest}', (request) => {
    requireType(request);
    throw request.method === 'GET' ? noInstance() : new Refusal(405, { detail: `The method ${request.method} is not allowed here.`, 'o:errorCode': 'INVALID_METHOD' });
  });
  return router;
}

async function listCatalog(request: Request, response: Response): Promise<void> {
  const select = request.query['select'];
  if (select !== undefined && (typeof select !== 'string' || /\s/.test(select))) {
    throw new Refusal(400, { detail: 'Invalid value for the query parameter select.', 'o:errorQueryParam': 'select', 'o:errorCode': 'INVALID_REQUEST' });
  }
  const types = select === undefined ? RECORD_TYPES : select.split(',').map((name) => findRecordType(name) ?? noType(request, name));
  const origin = originOf(request);
  await sendCollection(response, { items: types.map((type) => catalogEntry(type, origin)), links: [{ rel: 'self', href: `${origin}${request.baseUrl}/metadata-catalog` }] });
}

async function describeType(request: Request, response: Response): Promise<void> {
  const name = String(request.params['type']);
  const accept = request.get('accept') ?? '*/*';
  if (accept.includes('application/swagger+json')) {
    throw new Refusal(406, { detail: 'This account describes its records as JSON Schema alone.', 'o:errorHeader': 'Accept', 'o:errorCode': 'INVALID_HEADER' });
  }
  if (name.toLowerCase() === 'nslink') return sendJson(response, 200, SCHEMA, linkSchema);
  const type = findRecordType(name) ?? noType(request, name);
  if (accept.includes(SCHEMA)) await sendJson(response, 200, SCHEMA, schemaOf(type));
  else await sendSingle(response, catalogEntry(type, originOf(request)));
}

async function listRecords(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(request);
  if (request.query['q'] !== undefined) {
    throw new Refusal(400, { detail: 'This account does not filter record lists; ask SuiteQL.', 'o:errorQueryParam': 'q', 'o:errorCode': 'INVALID_PARAMETER' });
  }
  const page = readPage(request);
  const list = await inSnapshot(settings, (client) => listIds(client, type, page.limit, page.offset));
  const total = Math.min(list.total, MOST_PAGES * page.limit);
  const ids = list.ids.slice(0, Math.max(0, total - page.offset));
  const href = `${originOf(request)}${request.baseUrl}/${type.name.toLowerCase()}`;
  await sendCollection(response, {
    links: pageLinks(href, page, total, wrongLastOffset(total, page.limit)),
    count: ids.length,
    hasMore: page.offset + ids.length < total && ids.length > 0,
    items: ids.map((id) => ({ links: [{ rel: 'self', href: `${href}/${id}`, method: 'GET' }], id })),
    offset: page.offset,
    totalResults: total,
  });
}

/** As seen on every live record list: the link `last` doesn't lead to the last page. */
const wrongLastOffset = (total: number, limit: number): number => Math.floor((Math.ceil(total / limit) - 1) / limit) * limit;

async function getRecord(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(request);
  const id = requireId(request, type);
  const origin = originOf(request);
  const href = `${origin}${request.baseUrl}/${type.name.toLowerCase()}/${id}`;
  const isExpanded = request.query['expandSubResources'] === 'true';
  const body = await inSnapshot(settings, async (client) => {
    const record = await readRecord(client, type, id, origin);
    if (!record) throw noInstance(type);
    if (!type.lines) return record;
    const expanded = isExpanded ? lineCollection(await readLines(client, type, id, origin)) : {};
    return { ...record, item: { links: [{ rel: 'self', href: `${href}/item`, method: 'GET' }], ...expanded } };
  });
  await sendSingle(response, { links: [{ rel: 'self', href, method: 'GET' }], ...selectFields(body, request.query['fields']) });
}

async function getLines(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(request);
  const id = requireId(request, type);
  const origin = originOf(request);
  const lines = await inSnapshot(settings, async (client) => {
    if (!type.lines || !(await readRecord(client, type, id, origin))) throw noInstance(type);
    return readLines(client, type, id, origin);
  });
  await sendCollection(response, { links: [{ rel: 'self', href: `${origin}${request.originalUrl}`, method: 'GET' }], ...lineCollection(lines) });
}

const lineCollection = (items: RecordBody[]): object => ({ count: items.length, hasMore: false, items, offset: 0, totalResults: items.length });

/** `fields=a,b` keeps these body fields and the id. */
function selectFields(body: RecordBody, fields: unknown): RecordBody {
  if (typeof fields !== 'string') return body;
  const wanted = new Set(['id', ...fields.split(',').map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(body).filter(([name]) => wanted.has(name)));
}

const requireType = (request: Request): RecordType => findRecordType(String(request.params['type'])) ?? noType(request, String(request.params['type']));

function requireId(request: Request, type: RecordType): string {
  const id = String(request.params['id']);
  if (!/^-?\d{1,18}$/.test(id)) throw noInstance(type);
  return id;
}

function noType(request: Request, name: string): never {
  const path = `${request.baseUrl}${request.path}`;
  throw new Refusal(404, { detail: `Record type '${name}' does not exist.`, 'o:errorUrl': path, 'o:errorCode': 'NONEXISTENT_ID' });
}

/** A transaction that isn't there is answered in another way than an entity. */
function noInstance(type?: RecordType): Refusal {
  if (type?.transactionType !== undefined) {
    return new Refusal(400, { detail: 'Error while accessing a resource. Transaction type specified is incorrect.', 'o:errorCode': 'USER_ERROR' },
      { headers: { connection: 'close' } });
  }
  return new Refusal(404, { detail: 'The record instance does not exist. Provide a valid record instance ID.', 'o:errorCode': 'NONEXISTENT_ID' });
}
