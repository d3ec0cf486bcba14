// /services/rest/record/v1: the metadata catalogue, the records to be read, and what writes them.
import { type Request, type Response, Router } from 'express';
import { inSnapshot, type QuerySettings } from '../database/snapshot.ts';
import { pageLinks, readPage } from '../paging.ts';
import { originOf, sendCollection, sendSingle } from '../wire.ts';
import { catalogRoutes } from './catalog-routes.ts';
import { readFilter } from './q-filter.ts';
import { listIds, type RecordBody, readApplications, readLines, readRecord } from './read-record.ts';
import { requireId, requireType } from './record-path.ts';
import type { RecordType } from './record-types.ts';
import { noInstance, notAllowed } from './refusals.ts';
import type { WriteSettings } from './write-record.ts';
import { writeRoutes } from './write-routes.ts';

/** Live record lists never show more than this many pages. */
const MOST_PAGES = 1000;
const MOST_IDS = 1000;

export function recordRoutes(settings: QuerySettings, writes: WriteSettings): Router {
  const router = Router();
  router.use(catalogRoutes(settings.role));
  router.get('/:type', (request, response) =>
    request.query['expandRecords'] === 'true' ? readBatch(settings, request, response) : listRecords(settings, request, response),
  );
  router.get('/:type/:id', (request, response) => getRecord(settings, request, response));
  router.get('/:type/:id/:sublist', (request, response) => getSublist(settings, request, response));
  router.use(writeRoutes(writes, settings.role));
  router.all('/:type{/*rest}', (request) => {
    requireType(settings.role, request);
    throw request.method === 'GET' ? noInstance() : notAllowed(request.method);
  });
  return router;
}

async function listRecords(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(settings.role, request);
  const { q } = request.query;
  const filter = q === undefined ? undefined : readFilter(String(q), type, settings);
  const page = readPage(request);
  const list = await inSnapshot(settings, (client) => listIds(client, type, page, filter));
  const total = Math.min(list.total, MOST_PAGES * page.limit);
  const ids = list.ids.slice(0, Math.max(0, total - page.offset));
  const href = `${originOf(request)}${request.baseUrl}/${type.name.toLowerCase()}`;
  await sendCollection(response, {
    links: pageLinks(href, page, total, wrongLastOffset(total, page.limit), q === undefined ? '' : `&q=${encodeURIComponent(String(q))}`),
    count: ids.length,
    hasMore: page.offset + ids.length < total && ids.length > 0,
    items: ids.map((id) => ({ links: [{ rel: 'self', href: `${href}/${id}`, method: 'GET' }], id })),
    offset: page.offset,
    totalResults: total,
  });
}

/** As seen on every live record list: the link `last` doesn't lead to the last page. */
const wrongLastOffset = (total: number, limit: number): number => Math.floor((Math.ceil(total / limit) - 1) / limit) * limit;

/** `?expandRecords=true&ids=1,2,eid:x`: whole records; those that aren't there are left out. */
async function readBatch(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(settings.role, request);
  const ids = String(request.query['ids'] ?? '')
    .split(',')
    .filter(Boolean)
    .slice(0, MOST_IDS);
  const items = await inSnapshot(settings, async (client) => {
    const found: RecordBody[] = [];
    for (const given of ids) {
      const id = await idInSnapshot(client, type, given);
      const record = id === undefined ? undefined : await readWhole(client, type, id, request, false);
      if (record) found.push(record);
    }
    return found;
  });
  const links = [{ rel: 'self', href: `${originOf(request)}${request.originalUrl}`, method: 'GET' }];
  await sendCollection(response, { links, ...collection(items) });
}

async function getRecord(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(settings.role, request);
  const body = await inSnapshot(settings, async (client) => {
    const id = await idInSnapshot(client, type, String(request.params['id']));
    return id === undefined ? undefined : readWhole(client, type, id, request, request.query['expandSubResources'] === 'true');
  });
  if (!body) throw noInstance(type);
  await sendSingle(response, selectFields(body, request.query['fields']));
}

type Client = Parameters<typeof readRecord>[0];

/** Readers see the views alone, external ids too. */
async function idInSnapshot(client: Client, type: RecordType, given: string): Promise<string | undefined> {
  const name = type.properties.find(({ column }) => column === 'externalid')?.name;
  if (!given.startsWith('eid:')) return requireId(given, type);
  if (name === undefined) return undefined;
  const { ids } = await listIds(client, type, { limit: 1, offset: 0 }, { sql: 'externalid = $1', values: [given.slice('eid:'.length)] });
  return ids[0];
}

async function readWhole(
  client: Client,
  type: RecordType,
  id: string,
  request: Request,
  isExpanded: boolean,
): Promise<RecordBody | undefined> {
  const origin = originOf(request);
  const record = await readRecord(client, type, id, origin);
  if (!record) return undefined;
  const href = `${origin}${request.baseUrl}/${type.name.toLowerCase()}/${id}`;
  const body: RecordBody = { links: [{ rel: 'self', href, method: 'GET' }], ...record };
  for (const [name, read] of sublistsOf(type)) {
    const link = { links: [{ rel: 'self', href: `${href}/${name}`, method: 'GET' }] };
    body[name] = isExpanded ? { ...link, ...collection(await read(client, id, origin)) } : link;
  }
  return body;
}

type Sublist = [name: string, read: (client: Client, id: string, origin: string) => Promise<RecordBody[]>];

const sublistsOf = (type: RecordType): Sublist[] => [
  ...(type.lines ? [['item', (client, id, origin) => readLines(client, type, id, origin)] satisfies Sublist] : []),
  ...(type.applies ? [['apply', readApplications] satisfies Sublist] : []),
];

async function getSublist(settings: QuerySettings, request: Request, response: Response): Promise<void> {
  const type = requireType(settings.role, request);
  const sublist = sublistsOf(type).find(([name]) => name === String(request.params['sublist']).toLowerCase());
  const origin = originOf(request);
  const lines = await inSnapshot(settings, async (client) => {
    const id = await idInSnapshot(client, type, String(request.params['id']));
    if (!sublist || id === undefined || !(await readRecord(client, type, id, origin))) throw noInstance(type);
    return sublist[1](client, id, origin);
  });
  await sendCollection(response, {
    links: [{ rel: 'self', href: `${origin}${request.originalUrl}`, method: 'GET' }],
    ...collection(lines),
  });
}

const collection = (items: RecordBody[]): object => ({ count: items.length, hasMore: false, items, offset: 0, totalResults: items.length });

/** `fields=a,b` keeps these body fields and the id. */
function selectFields(body: RecordBody, fields: unknown): RecordBody {
  if (typeof fields !== 'string') return body;
  const wanted = new Set(['links', 'id', ...fields.split(',').map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(body).filter(([name]) => wanted.has(name)));
}
