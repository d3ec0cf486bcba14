// The control interface over HTTP: bodies are parsed strictly, and every answer is JSON.
import type { AccountClock } from 'netsuite-simulator/account-clock';
import { invalid } from 'netsuite-simulator/control-error';
import {
  type ControlServer,
  createControlRouter,
  type Method,
  type Route,
  startGuardedServer,
} from 'netsuite-simulator/control-server';
import { parseBody, parseValue } from 'netsuite-simulator/parse';
import { z } from 'zod';
import { type Fault, FaultsBody } from './faults.ts';
import type { Place, Records } from './records.ts';
import type { SeenRequest } from './service.ts';

/** What can be done to a service while it runs. */
export type Controls = {
  readonly tables: readonly string[];
  readonly records: Records;
  readonly clock: AccountClock;
  /** Replaces the faults. */
  putFaults(...faults: Fault[]): void;
  /** No fault, the clock as it runs, no requests; records stay. */
  reset(): void;
  /** Makes all access tokens invalid. */
  revokeTokens(): void;
  /** Since the last reset, the oldest first. */
  requests(): readonly SeenRequest[];
  state(): object;
};
type Request = Parameters<Route['handle']>[0];

const Time = z.iso.datetime({ offset: true, error: 'must be a time such as "2026-08-22T09:30:00Z"' });
const Nothing = z.strictObject({});
const Fields = z.record(z.string(), z.unknown());
const Edit = z.strictObject({
  fields: Fields.optional(),
  lines: z.array(z.strictObject({ line: z.string(), fields: Fields.nullable() })).optional(),
  touch: z.string().optional(),
});
const NewRecord = z.strictObject({ like: z.string().optional(), fields: Fields.optional() });
const Bulk = z.strictObject({
  count: z.int().min(1).max(1_000_000),
  seed: z.int().optional(),
  lines: z.int().min(0).max(1_000).optional(),
  from: Time.optional(),
  stepSeconds: z.number().min(0).optional(),
});
const Clock = z
  .strictObject({ stepSeconds: z.number().optional(), at: Time.optional() })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    error: 'must have stepSeconds or at',
  });
const PlaceQuery = z.strictObject({ company: z.string().optional() });
const ListQuery = PlaceQuery.extend({
  after: z.string().optional(),
  limit: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number')
    .optional(),
});
const RemoveQuery = PlaceQuery.extend({ listed: z.literal(['true', 'false']).optional() });

/** Without members that are undefined. */
const defined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

const parameter = (request: Request, name: string): string => String(request.params[name] ?? '');
const toPlace = (request: Request, { company }: { company?: string | undefined }): Place => ({
  table: parameter(request, 'table'),
  ...(company !== undefined && { company }),
});
const toRecordPlace = (
  request: Request,
  query: { company?: string | undefined },
): Place & { id: string } => ({
  ...toPlace(request, query),
  id: parameter(request, 'id'),
});

const recordRoutes = ({ records }: Controls): Route[] => [
  {
    method: 'get',
    path: '/records/:table',
    handle(request) {
      const { after, limit = '1000', ...query } = parseValue(ListQuery, request.query);
      return records.list(toPlace(request, query), { after, limit: Number(limit) });
    },
  },
  {
    method: 'post',
    path: '/records/:table',
    status: 201,
    handle: (request) =>
      records.create(
        toPlace(request, parseValue(PlaceQuery, request.query)),
        defined(parseBody(NewRecord, request)),
      ),
  },
  {
    method: 'post',
    path: '/generate/:table',
    handle: (request) =>
      records.generate(
        toPlace(request, parseValue(PlaceQuery, request.query)),
        defined(parseBody(Bulk, request)),
      ),
  },
  {
    method: 'get',
    path: '/records/:table/:id',
    handle: (request) => records.get(toRecordPlace(request, parseValue(PlaceQuery, request.query))),
  },
  ...(['put', 'patch'] as const).map((method) => ({
    method,
    path: '/records/:table/:id',
    handle: (request: Request) =>
      records[method](
        toRecordPlace(request, parseValue(PlaceQuery, request.query)),
        defined(parseBody(Edit, request)),
      ),
  })),
  {
    method: 'delete',
    path: '/records/:table/:id',
    handle(request) {
      const { listed, ...query } = parseValue(RemoveQuery, request.query);
      const place = toRecordPlace(request, query);
      records.remove(place, listed !== 'false');
      return { table: place.table, id: place.id, listed: listed !== 'false' };
    },
  },
];

/** They answer the state. */
const stateRoutes = (simulator: Controls): Route[] => {
  const route = (method: Method, path: string, work: (request: Request) => unknown): Route => ({
    method,
    path,
    handle(request) {
      work(request);
      return simulator.state();
    },
  });
  const plain = (path: string, work: () => void): Route =>
    route('post', path, (request) => {
      parseBody(Nothing, request);
      work();
    });
  return [
    route('get', '/state', () => undefined),
    { method: 'get', path: '/requests', handle: () => ({ requests: simulator.requests() }) },
    plain('/reset', simulator.reset),
    plain('/deltas/expire', () => simulator.records.expireDeltas()),
    plain('/tokens/revoke', simulator.revokeTokens),
    route('put', '/faults', (request) => {
      const faults = parseBody(FaultsBody, request);
      const unknown = faults.findIndex(
        ({ on: { table } }) => table !== undefined && !simulator.tables.includes(table),
      );
      if (unknown >= 0)
        throw invalid({ path: `[${unknown}].on.table`, message: 'is no entity set of the service' });
      simulator.putFaults(...faults);
    }),
    route('post', '/clock', (request) => {
      const { stepSeconds, at } = parseBody(Clock, request);
      if (at !== undefined) simulator.clock.set(new Date(at));
      if (stepSeconds !== undefined) simulator.clock.step(stepSeconds);
    }),
  ];
};

/** On loopback, behind a token. Rejects with the system's error when the port is taken. */
export const startControl = (simulator: Controls, port: number): Promise<ControlServer> =>
  startGuardedServer({
    port,
    guarded: [createControlRouter([...stateRoutes(simulator), ...recordRoutes(simulator)])],
  });
