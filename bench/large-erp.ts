// A NetSuite account in its own process whose customers have large texts, more than a simulated account could
// hold. It understands the queries of a full run and nothing else.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { RecordTypeMetadata } from '../src/connectors/connector.ts';
import { field } from './sync-records.ts';

/** Customers with ids 1 to `records`, each with `fields` texts of `bytes` bytes. */
export type LargeRecords = { readonly records: number; readonly fields: number; readonly bytes: number };

const textNames = ({ fields }: LargeRecords): string[] =>
  Array.from({ length: fields }, (_, index) => `text${index + 1}`);

export const largeRecordType = (of: LargeRecords): RecordTypeMetadata => ({
  name: 'customer',
  label: 'Customer',
  table: 'customer',
  source: 'bench',
  idType: 'integer',
  fields: [
    field('id', 'integer'),
    field('lastmodifieddate', 'time'),
    ...textNames(of).map((name) => field(name, 'text')),
  ],
  openWhen: null,
  modifiedField: 'lastmodifieddate',
  linesModifiedField: null,
  shownAs: { number: null, name: null, date: null, amount: null },
});

export type LargeErp = { readonly url: string; setRecords(of: LargeRecords): Promise<void>; stop(): void };

export async function startLargeErp(): Promise<LargeErp> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: 'inherit' });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    url,
    setRecords: async (of) => {
      const done = once(child, 'message');
      child.send(of);
      await done;
    },
    stop: () => child.disconnect(),
  };
}

/**
 * Paragraphs with line breaks, quotation marks, and letters of two and three bytes, as people paste them: of
 * exactly `bytes` bytes.
 */
function createText(bytes: number): string {
  const paragraph =
    'The wholesale "ceramic" lantern of Zoë\u2019s garden, retro kitchen \\ hanging christmas ribbon.\r\n';
  const text = paragraph.repeat(Math.ceil(bytes / Buffer.byteLength(paragraph)));
  const cut = Buffer.from(text).subarray(0, bytes).toString().replaceAll('\ufffd', '');
  return cut + '.'.repeat(bytes - Buffer.byteLength(cut));
}

const modified = '2026-01-05T08:30:00Z';
const now = '2026-03-02T10:00:00.000Z';

/** `texts`: the JSON of the text columns of each record. */
type Served = { readonly of: LargeRecords; readonly texts: string };

function select(
  { of: { records } }: Served,
  query: string,
  limit: number,
): { ids: number[]; hasMore: boolean } {
  const listed = /t\.id IN \(([^)]*)\)/.exec(query)?.[1]?.split(', ').map(Number);
  const after = Number(/t\.id > (-?\d+)/.exec(query)?.[1] ?? 0);
  const all = listed?.filter((id) => id > 0 && id <= records) ?? [];
  const count = listed === undefined ? Math.max(0, records - after) : all.length;
  const ids =
    listed === undefined
      ? Array.from({ length: Math.min(limit, count) }, (_, index) => after + 1 + index)
      : all.slice(0, limit);
  return { ids, hasMore: count > ids.length };
}

async function writeRows(
  response: ServerResponse,
  served: Served,
  query: string,
  limit: number,
): Promise<void> {
  const { ids, hasMore } = select(served, query, limit);
  const own = query.includes('t.text1') ? served.texts : '';
  function* parts() {
    yield `{"links":[],"count":${ids.length},"hasMore":${hasMore},"offset":0,"items":[`;
    for (const [index, id] of ids.entries())
      yield `${index === 0 ? '' : ','}{"links":[],"id":"${id}","lastmodifieddate":"${modified}"${own}}`;
    yield ']}';
  }
  // A service that has enough of a response breaks it off.
  await pipeline(Readable.from(parts()), response).catch(() => undefined);
}

function serve(): void {
  let served: Served = { of: { records: 0, fields: 1, bytes: 0 }, texts: '' };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const url = request.url ?? '';
    response.setHeader('content-type', 'application/json');
    if (url.endsWith('serverTime')) return void response.end(JSON.stringify({ serverTime: now }));
    const { q: query } = JSON.parse(body) as { q: string };
    const rows = (items: object[]) => void response.end(JSON.stringify({ items, hasMore: false }));
    if (query.includes(' AS today ')) return rows([{ today: now.slice(0, 10) }]);
    if (query.includes('deletedrecord')) return rows([]);
    if (query.includes('COUNT(*)'))
      return rows([{ n: String(served.of.records), records: String(served.of.records) }]);
    return writeRows(response, served, query, Number(/limit=(\d+)/.exec(url)?.[1]));
  }

  const server = createServer(
    { keepAliveTimeout: 65_000 },
    (request, response) => void answer(request, response),
  );
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  process.on('message', (of: LargeRecords) => {
    const text = JSON.stringify(createText(of.bytes));
    served = {
      of,
      texts: textNames(of)
        .map((name) => `,"${name}":${text}`)
        .join(''),
    };
    process.send?.({});
  });
  process.on('disconnect', () => process.exit(0));
}

if (process.argv[2] === 'serve') serve();
