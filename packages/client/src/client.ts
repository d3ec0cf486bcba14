// Makes the object with the resources of a version.
import { type Changes, type ChangesOptions, followChanges } from './changes.ts';
import { exportRecords } from './export.ts';
import { createList, type List } from './list.ts';
import { type Query, writeQuery } from './query.ts';
import { type CallOptions, type ClientOptions, createTransport, type Transport } from './transport.ts';
import type { Exact, Paging, ResourceTypes, Shape, Shown, Summary, SummaryRow } from './types.ts';
import { createConverter } from './values.ts';

type Listing<T extends ResourceTypes> = T['selection'] & Paging & Shape<T>;
type Exporting<T extends ResourceTypes> = T['selection'] & Pick<Shape<T>, 'fields'>;

/** All methods reject with ApiError for a refusal, and with ConnectionError when no whole response comes. */
export type Resource<T extends ResourceTypes> = {
  /** The records that match; read them with `for await`, or page by page. */
  list(): List<T['record']>;
  list<const P extends Listing<T>>(
    parameters: Exact<P, Listing<T>>,
    options?: CallOptions,
  ): List<Shown<T, P>>;
  /** One record. Rejects with ApiError of status 404 when there is none. */
  get(id: string): Promise<T['record']>;
  get<const P extends Shape<T>>(
    id: string,
    parameters: Exact<P, Shape<T>>,
    options?: CallOptions,
  ): Promise<Shown<T, P>>;
  /** Everything that matches, from one state of the data. */
  export(): AsyncIterable<T['record']>;
  export<const P extends Exporting<T>>(
    parameters: Exact<P, Exporting<T>>,
    options?: CallOptions,
  ): AsyncIterable<Shown<T, P>>;
  /**
   * What has changed since the stored position, then ends. A position is saved when the changes up to it have
   * been processed: after a crash, some come again.
   */
  changes(options?: ChangesOptions): Changes<T['record']>;
} & ([T['summary']] extends [never] ? unknown : Summarized<T['summary']>);

type Summarized<S extends ResourceTypes['summary']> = {
  /** Exact results over the records that match, as a whole or in groups. */
  summary<const P extends S['parameters']>(
    parameters: Exact<P, S['parameters']>,
    options?: CallOptions,
  ): Promise<Summary<SummaryRow<S['row'], P>>>;
};

/** What a generated client knows of a resource. */
export type ResourceFacts = {
  /** As in addresses. */
  readonly name: string;
  readonly maxPageSize?: number;
  /** `false` where `expand` is a filter. */
  readonly expands?: boolean;
  /** The fields with whole numbers, such as `total` and `lines.quantity`, for clients that get bigints. */
  readonly integers?: readonly string[];
};

/** Addresses end elsewhere with `.` and `..`. */
const isSegment = (id: unknown): boolean => typeof id === 'string' && !/^\.{0,2}$/.test(id);

type Call = readonly [parameters?: object, options?: CallOptions];

function createResource(transport: Transport, version: string, facts: ResourceFacts) {
  const { name, maxPageSize, expands = true, integers } = facts;
  const write = (parameters: object) => writeQuery(parameters as Query, { expands });
  const base = `/api/public/${version}/${name}`;
  const toItem = integers === undefined ? (record: unknown) => record : createConverter(integers);
  return {
    list: (...[parameters = {}, options = {}]: Call) =>
      createList({
        ...{ transport, path: base, query: parameters as Query, options, maxPageSize, expands },
        toItem: (record) => toItem(record) as { readonly id: string },
      }),
    get: async (id: string, ...[parameters = {}, options]: Call) => {
      const path = `${base}/${encodeURIComponent(id)}${write(parameters)}`;
      const { body } = isSegment(id) ? await transport.read(path, options) : { body: { data: [] } };
      const { data } = body as { readonly data: unknown };
      if (Array.isArray(data)) throw new TypeError(`${JSON.stringify(id)} is no id of a record`);
      return toItem(data);
    },
    export: (...[parameters = {}, options = {}]: Call) =>
      exportRecords({ transport, path: base + write(parameters), toItem, options }),
    changes: (options: ChangesOptions = {}) =>
      followChanges({ transport, path: `${base}/changes`, toItem, options }),
    summary: async (...[parameters = {}, options]: Call) => {
      const path = `${base}/summary${write(parameters)}`;
      const { body, text: _, ...freshness } = await transport.read(path, options);
      const { data, total } = body as { readonly data: unknown[]; readonly total: number };
      return { ...freshness, data: data.map(toItem), total };
    },
  };
}

/**
 * For generated clients: the resources of a version under the names of `facts`. Throws a TypeError for
 * options that can't work.
 */
export const createClient = <Client>(
  options: ClientOptions,
  version: string,
  facts: { readonly [Name in keyof Client]: ResourceFacts },
): Client => createResources<Client>(createTransport(options), version, facts);

export function createResources<Client>(
  transport: Transport,
  version: string,
  facts: { readonly [Name in keyof Client]: ResourceFacts },
): Client {
  const resources = Object.entries<ResourceFacts>(facts).map(([name, each]) => [
    name,
    createResource(transport, version, each),
  ]);
  return Object.fromEntries(resources) as Client;
}
