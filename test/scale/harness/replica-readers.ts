// Clients that read a replicated service in every way, one request after the other, and check each answer: it
// shows one state of the ERP as a whole, none older than the client has seen before, and none that had been
// replaced for more than a second when the request was sent.
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { fullAccess } from '../../../src/core/record-access.ts';
import { maxCharacters } from '../../../src/mcp/tool.ts';
import { getRecordTools } from '../../../src/public/index.ts';
import { parts, type ReplicatedService } from './replicated-service.ts';
import { richerKinds } from './richer-kinds.ts';

type Answer = { readonly status: number; readonly text: string; readonly headers: IncomingHttpHeaders };
/**
 * The states that an answer shows in its records, and how many records of the organization, or of one part,
 * it has or counts.
 */
type Shown = { readonly states: readonly unknown[]; readonly found: number; readonly part?: number };

const nothingFound = {
  reads: 0,
  /** Answers that show several states, or another number of records than their state has. */
  wrong: 0,
  /** Older than what the same client has seen. */
  backward: 0,
  /** Replaced more than a second before the request. */
  stale: 0,
  errors: 0,
  /** Exports whose connection broke after the first byte, so that no client takes them for complete. */
  cut: 0,
};

/** The state that the process trusts may be this old. */
const maxAgeMs = 1_000;
const maxProblems = 20;
const exportKinds: readonly string[] = ['ndjson', 'csv', 'summary as JSON lines'];
/** The connection broke during the answer. */
class CutOff extends Error {}
const pageSize = 25;

type RecordJson = { readonly id: string; readonly total: unknown };
type ListJson = { readonly data: readonly RecordJson[]; readonly pagination: { readonly total: number } };
type ChangesJson = {
  readonly data: readonly { readonly op: string; readonly id: string; readonly record: RecordJson | null }[];
  readonly next: string;
  readonly hasMore: boolean;
};

const below = (count: number): number => Math.floor(Math.random() * count);
const shownIn = (text: string): Shown => {
  const { data, pagination } = JSON.parse(text) as ListJson;
  return { states: data.map(({ total }) => total), found: pagination.total };
};

/** A client with its memory; the answers of all clients are checked against the same published states. */
type Reader = {
  seen: number;
  since: string | null;
  readonly copy: Map<string, unknown>;
  readonly tags: Map<string, [string, Shown]>;
};

export type Readers = Awaited<ReturnType<typeof openReaders>>;

export async function openReaders(site: ReplicatedService) {
  const { service, secret, fixture, published, countRecords: countOf } = site;
  const agent = new Agent({ keepAlive: true });
  const own = { authorization: `Bearer ${secret}`, 'x-tenant-id': fixture.organizationId };
  const kindsRead: Record<string, number> = {};
  /** The first of them. */
  const problems: string[] = [];
  const findings = { ...nothingFound, kinds: kindsRead, problems };
  const note = (what: 'wrong' | 'backward' | 'stale' | 'errors', text: string): void => {
    findings[what] += 1;
    if (findings.problems.length < maxProblems) findings.problems.push(`${what}: ${text}`);
  };

  const send = (path: string, more: Record<string, string> = {}, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const [method, type] =
        body === undefined ? ['GET', {}] : ['POST', { 'content-type': 'application/json' }];
      const headers = { ...own, ...type, ...more };
      const sent = request(`${service.localUrl}${path}`, { agent, method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', () => reject(new CutOff()));
        answer.once('end', () => {
          const { statusCode: status = 0 } = answer;
          resolve({ status, text: Buffer.concat(chunks).toString(), headers: answer.headers });
        });
      });
      sent.once('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const get = async (path: string, more?: Record<string, string>): Promise<string> => {
    const { status, text } = await send(path, more);
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    return text;
  };
  /** As a client with a copy reads it: an answer 304 means what the answer with that tag showed. */
  const revalidate = async (
    { tags }: Reader,
    path: string,
    read: (text: string) => Shown,
  ): Promise<Shown> => {
    const known = tags.get(path);
    const asked = known === undefined ? {} : { 'if-none-match': known[0] };
    const { status, text, headers } = await send(path, asked);
    if (status === 304 && known !== undefined) return known[1];
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    const shown = read(text);
    tags.set(path, [headers.etag ?? '', shown]);
    return shown;
  };

  const filters = [{ field: 'part', operator: 'eq', value: '1' }];
  const part1 = { name: 'Part 1', recordType: 'thing', columns: ['total'], filters };
  const made = await send('/api/platform/v1/views', {}, part1);
  if (made.status !== 201) throw new Error(`The view was not made: ${made.text}`);
  const view = JSON.parse(made.text) as { id: string };
  const mcp = new Client({ name: 'test', version: '1.0.0' });
  await mcp.connect(
    new StreamableHTTPClientTransport(new URL(`${service.localUrl}/mcp`), { requestInit: { headers: own } }),
  );
  const tools = getRecordTools(service.ctx);
  const records = countOf(0);
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

  async function readChanges(reader: Reader): Promise<Shown | undefined> {
    const since = reader.since === null ? '' : `&since=${reader.since}`;
    const { data, next, hasMore } = JSON.parse(
      await get(`/api/public/v1/things/changes?limit=500${since}`),
    ) as ChangesJson;
    for (const { id, record } of data) {
      if (record === null) reader.copy.delete(id);
      else reader.copy.set(id, record.total);
    }
    reader.since = next;
    return hasMore ? undefined : { states: [...reader.copy.values()], found: reader.copy.size };
  }

  const list = '/api/public/v1/things';
  const kinds: Record<string, { readonly weight: number; read(reader: Reader): Promise<Shown | undefined> }> =
    {
      ...richerKinds(get, records, countOf),
      list: {
        weight: 20,
        read: async () => shownIn(await get(`${list}?pageSize=${pageSize}&page=${1 + below(8)}`)),
      },
      revalidated: {
        weight: 10,
        read: (reader) => revalidate(reader, `${list}?pageSize=${pageSize}&page=${1 + below(3)}`, shownIn),
      },
      filter: {
        weight: 15,
        read: async () => {
          const part = below(parts);
          const filtered = `${list}?part=${part}&total_lte=${1e9 + below(1e6)}&pageSize=10`;
          return { ...shownIn(await get(filtered)), part };
        },
      },
      deep: {
        weight: 10,
        read: async () => {
          const page = Math.floor(records / pageSize) - below(5);
          return shownIn(await get(`${list}?sort=name&order=desc&pageSize=${pageSize}&page=${page}`));
        },
      },
      record: {
        weight: 25,
        read: async () => {
          const { data } = JSON.parse(await get(`${list}/${1 + below(records)}`)) as { data: RecordJson };
          return { states: [data.total], found: countOf(Number(data.total)) };
        },
      },
      changes: { weight: 8, read: readChanges },
      ndjson: {
        weight: 2,
        read: async () => {
          const all = lines(await get(list, { accept: 'application/x-ndjson' }));
          return { states: all.map((line) => (JSON.parse(line) as RecordJson).total), found: all.length };
        },
      },
      csv: {
        weight: 2,
        read: async () => {
          const all = lines(await get(`${list}?part=2`, { accept: 'text/csv' })).slice(1);
          return { states: all.map((line) => Number(line.split(',')[2])), found: all.length, part: 2 };
        },
      },
      view: {
        weight: 3,
        read: async () => ({
          ...shownIn(await get(`/api/platform/v1/views/${view.id}/records?pageSize=20`)),
          part: 1,
        }),
      },
      mcp: {
        weight: 2,
        read: async () => {
          const asked = { version: 'v1', resource: 'things', filters: { part: '0' }, pageSize: 10 };
          const { content, isError } = await mcp.callTool({ name: 'query', arguments: asked });
          const [first] = content;
          if (isError === true || first?.type !== 'text') throw new Error(JSON.stringify(content));
          return { ...shownIn(first.text), part: 0 };
        },
      },
      aggregate: {
        weight: 3,
        read: async () => {
          const access = { reads: fullAccess, masks: 'own' as const, maxCharacters };
          const over = { version: 'v1', resource: 'things', field: 'total' };
          const input = { ...over, orderBy: 'count', limit: 20 } as const;
          const { count, min, max } = JSON.parse(await tools.aggregate(fixture.tenant, access, input));
          return { states: [Number(min), Number(max)], found: Number(count) };
        },
      },
    };

  const drawn = Object.entries(kinds).flatMap(([kind, { weight }]) =>
    Array.from({ length: weight }, () => kind),
  );

  function check(reader: Reader, kind: string, { states, found, part }: Shown, sentAtMs: number): void {
    const distinct = [...new Set(states.map(Number))];
    const [state = Number.NaN] = distinct;
    const count = countOf(state, part);
    if (distinct.length !== 1) note('wrong', `${kind} shows the states ${distinct.join()}`);
    else if (site.isLost(state)) note('wrong', `${kind} shows the lost state ${state}`);
    else if (found !== count) note('wrong', `${kind} has ${found} of the ${count} records of state ${state}`);
    if (state < reader.seen) note('backward', `${kind} shows state ${state} after ${reader.seen}`);
    const due = published.findLast(({ atMs }) => atMs < sentAtMs - maxAgeMs)?.state ?? 0;
    if (state < due)
      note('stale', `${kind} shows state ${state}, and ${due} was published more than ${maxAgeMs} ms before`);
    reader.seen = Math.max(reader.seen, state);
  }

  async function readOnce(reader: Reader): Promise<void> {
    const kind = drawn[below(drawn.length)] ?? 'list';
    const sentAtMs = performance.now();
    try {
      const shown = await kinds[kind]?.read(reader);
      if (shown !== undefined) check(reader, kind, shown, sentAtMs);
    } catch (error) {
      if (error instanceof CutOff && exportKinds.includes(kind)) findings.cut += 1;
      else note('errors', `${kind}: ${error instanceof Error ? error.message : String(error)}`);
    }
    findings.reads += 1;
    kindsRead[kind] = (kindsRead[kind] ?? 0) + 1;
  }

  return {
    findings,
    /** Reads on until `isOver`, with this many clients at once. */
    run: async (clients: number, isOver: () => boolean): Promise<void> => {
      const readUntilOver = async (): Promise<void> => {
        const reader: Reader = { seen: 0, since: null, copy: new Map(), tags: new Map() };
        while (!isOver()) await readOnce(reader);
      };
      await Promise.all(Array.from({ length: clients }, readUntilOver));
    },
    close: async (): Promise<void> => {
      await mcp.close();
      agent.destroy();
    },
  };
}
