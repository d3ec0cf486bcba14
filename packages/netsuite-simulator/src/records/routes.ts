// /services/rest/record/v1: the metadata catalog, and reading and writing records.
import { type Request, type Response, Router } from 'express';
import { getDistortion } from '../answer-faults/distortion.ts';
import { inSnapshot, type QuerySettings } from '../database/snapshot.ts';
import { collectionLinks, parsePageWindow } from '../paging.ts';
import { getOrigin, sendCollection, sendSingle } from '../wire.ts';
import { catalogRoutes } from './catalog-routes.ts';
import { parseFilter } from './q-filter.ts';
import {
  listRecordIds,
  type RecordBody,
  type RecordReader,
  readApplications,
  readChoices,
  readRecordBody,
  readRecordLines,
  readSublist,
  toCollection,
} from './read-record.ts';
import { methodNotAllowed, recordNotFound } from './record-errors.ts';
import { getVisibleType, parseRecordId } from './record-path.ts';
import type { RestRecordType } from './record-type.ts';
import type { WriteSettings } from './write-record.ts';
import { writeRoutes } from './write-routes.ts';

/** Record lists of real accounts never have more pages than this. */
const MAX_PAGES = 1000;
const MAX_IDS = 1000;

/** The routes throw RestError for unknown types, ids, filters and methods. */
export function recordRoutes(settings: QuerySettings, writes: WriteSettings): Router {
  const router = Router();
  router.use(catalogRoutes(settings.role));
  router.get('/:type', (request, response) =>
    request.query['expandRecords'] === 'true'
      ? sendBatch(settings, request, response)
      : sendRecordList(settings, request, response),
  );
  router.get('/:type/:id', (request, response) => sendRecord(settings, request, response));
  router.get('/:type/:id/:sublist', (request, response) => sendSublist(settings, request, response));
  router.use(writeRoutes(writes, settings.role));
  router.all('/:type{/*rest}', (request) => {
    getVisibleType(settings.role, request);
    throw request.method === 'GET' ? recordNotFound() : methodNotAllowed(request.method);
  });
  return router;
}

function readInSnapshot<T>(
  settings: QuerySettings,
  request: Request,
  response: Response,
  work: (reader: RecordReader) => Promise<T>,
): Promise<T> {
  const reader = { role: settings.role, origin: getOrigin(request) };
  return inSnapshot(settings, (client) => work({ ...reader, client }), getDistortion(response).snapshot);
}

async function sendRecordList(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = getVisibleType(settings.role, request);
  const { q } = request.query;
  const filter = q === undefined ? undefined : parseFilter(String(q), type, settings);
  const page = parsePageWindow(request);
  const list = await readInSnapshot(settings, request, response, (reader) =>
    listRecordIds(reader, type, page, filter),
  );
  const total = Math.min(list.total, MAX_PAGES * page.limit);
  const ids = list.ids.slice(0, Math.max(0, total - page.offset));
  const href = `${getOrigin(request)}${request.baseUrl}/${type.name.toLowerCase()}`;
  await sendCollection(response, {
    links: collectionLinks(
      href,
      page,
      total,
      wrongLastOffset(total, page.limit),
      q === undefined ? '' : `&q=${encodeURIComponent(String(q))}`,
    ),
    count: ids.length,
    hasMore: page.offset + ids.length < total && ids.length > 0,
    items: ids.map((id) => ({ links: [{ rel: 'self', href: `${href}/${id}`, method: 'GET' }], id })),
    offset: page.offset,
    totalResults: total,
  });
}

/**
 * Reproduces an observed quirk: on real accounts the link `last` of a record list doesn't lead to the last
 * page.
 */
const wrongLastOffset = (total: number, limit: number): number =>
  Math.floor((Math.ceil(total / limit) - 1) / limit) * limit;

/** `?expandRecords=true&ids=1,2,eid:x`: whole records; absent ones are left out. */
async function sendBatch(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = getVisibleType(settings.role, request);
  const ids = String(request.query['ids'] ?? '')
    .split(',')
    .filter(Boolean)
    .slice(0, MAX_IDS);
  const items = await readInSnapshot(settings, request, response, async (reader) => {
    const found: RecordBody[] = [];
    for (const given of ids) {
      const id = await idInSnapshot(reader, type, given);
      const record = id === undefined ? undefined : await readWithSublists(reader, type, id, request, false);
      if (record) found.push(record);
    }
    return found;
  });
  const links = [{ rel: 'self', href: `${getOrigin(request)}${request.originalUrl}`, method: 'GET' }];
  await sendCollection(response, { links, ...toCollection(items) });
}

async function sendRecord(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = getVisibleType(settings.role, request);
  const body = await readInSnapshot(settings, request, response, async (reader) => {
    const id = await idInSnapshot(reader, type, String(request.params['id']));
    return id === undefined
      ? undefined
      : readWithSublists(reader, type, id, request, request.query['expandSubResources'] === 'true');
  });
  if (!body) throw recordNotFound(type);
  await sendSingle(response, selectFields(body, request.query['fields']));
}

/** Looks external ids up in the views, which are all that readers can see. */
async function idInSnapshot(
  reader: RecordReader,
  type: RestRecordType,
  given: string,
): Promise<string | undefined> {
  const name = type.properties.find(({ column }) => column === 'externalid')?.name;
  if (!given.startsWith('eid:')) return parseRecordId(given, type);
  if (name === undefined) return undefined;
  const condition = { sql: 'externalid = $1', values: [given.slice('eid:'.length)] };
  const { ids } = await listRecordIds(reader, type, { limit: 1, offset: 0 }, condition);
  return ids[0];
}

async function readWithSublists(
  reader: RecordReader,
  type: RestRecordType,
  id: string,
  request: Request,
  isExpanded: boolean,
): Promise<RecordBody | undefined> {
  const record = await readRecordBody(reader, type, id);
  if (!record) return undefined;
  const href = `${reader.origin}${request.baseUrl}/${type.name.toLowerCase()}/${id}`;
  const body: RecordBody = { links: [{ rel: 'self', href, method: 'GET' }], ...record };
  for (const [name, read] of listSublists(type)) {
    const link = { links: [{ rel: 'self', href: `${href}/${name}`, method: 'GET' }] };
    body[name] = isExpanded ? { ...link, ...toCollection(await read(reader, id)) } : link;
  }
  return body;
}

type Sublist = [name: string, read: (reader: RecordReader, id: string) => Promise<RecordBody[]>];

const listSublists = (type: RestRecordType): Sublist[] => [
  ...(type.lines ? [['item', (reader, id) => readRecordLines(reader, type, id)] satisfies Sublist] : []),
  ...(type.applies ? [['apply', readApplications] satisfies Sublist] : []),
  ...(type.sublists ?? []).map(
    (sublist): Sublist => [sublist.name, (reader, id) => readSublist(reader, sublist, id)],
  ),
  ...type.properties
    .filter(({ kind }) => kind === 'choices')
    .map((property): Sublist => [property.name, (reader, id) => readChoices(reader, type, property, id)]),
];

async function sendSublist(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = getVisibleType(settings.role, request);
  const sublist = listSublists(type).find(
    ([name]) => name.toLowerCase() === String(request.params['sublist']).toLowerCase(),
  );
  const lines = await readInSnapshot(settings, request, response, async (reader) => {
    const id = await idInSnapshot(reader, type, String(request.params['id']));
    if (!sublist || id === undefined || !(await readRecordBody(reader, type, id))) throw recordNotFound(type);
    return sublist[1](reader, id);
  });
  await sendCollection(response, {
    links: [{ rel: 'self', href: `${getOrigin(request)}${request.originalUrl}`, method: 'GET' }],
    ...toCollection(lines),
  });
}

/** `fields=a,b` keeps these fields, the links and the id. */
function selectFields(body: RecordBody, fields: unknown): RecordBody {
  if (typeof fields !== 'string') return body;
  const wanted = new Set(['links', 'id', ...fields.split(',').map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(body).filter(([name]) => wanted.has(name)));
}
