// Rows of webhook_endpoints and webhook_positions: their only writer.
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { EventType, SignatureKind } from '../../webhooks/index.ts';

export const disabledReasons = ['failing', 'gone', 'key_ended'] as const;

export type EndpointRow = {
  id: string;
  url: string;
  description: string;
  events: EventType[];
  version: string | null;
  /** Empty: every resource of the version that the key reads. */
  resources: string[];
  api_key_id: string;
  include: 'none' | 'records';
  signature: SignatureKind;
  /** Encrypted. */
  secret: string;
  previous_secret: string | null;
  previous_secret_ends_at: Date | null;
  enabled: boolean;
  disabled_reason: (typeof disabledReasons)[number] | null;
  /** Attempts in a row that failed. */
  failures: number;
  failing_since: Date | null;
  /** Nothing is sent before. */
  waits_until: Date | null;
  created_at: Date;
  updated_at: Date;
};

const columns = [
  'id',
  'url',
  'description',
  'events',
  'version',
  'resources',
  'api_key_id',
  'include',
  'signature',
  'secret',
  'previous_secret',
  'previous_secret_ends_at',
  'enabled',
  'disabled_reason',
  'failures',
  'failing_since',
  'waits_until',
  'created_at',
  'updated_at',
] as const;

const endpoints = (tx: Tx, organizationId: string) =>
  tx('webhook_endpoints').where({ organization_id: organizationId });

export const listEndpointRows = (tx: Tx, organizationId: string, page: PageQuery) =>
  readPage<EndpointRow>(
    endpoints(tx, organizationId)
      .select(...columns)
      .orderBy(newestFirst('created_at', 'id')),
    page,
  );

export const findEndpointRow = async (tx: Tx, organizationId: string, id: string) =>
  endpoints(tx, organizationId)
    .where({ id })
    .first<EndpointRow | undefined>(...columns);

/** Locks the endpoint until the transaction ends. It is locked before its job. */
export const lockEndpointRow = async (tx: Tx, organizationId: string, id: string) =>
  endpoints(tx, organizationId)
    .where({ id })
    .forNoKeyUpdate()
    .first<EndpointRow | undefined>(...columns);

type Changed = Omit<EndpointRow, 'id' | 'created_at' | 'updated_at'>;
/** What is undefined stays. */
export type EndpointChange = { readonly [K in keyof Changed]?: Changed[K] | undefined };
type NewEndpoint = Omit<
  EndpointRow,
  'failures' | 'failing_since' | 'waits_until' | 'created_at' | 'updated_at'
>;

export const insertEndpoint = (tx: Tx, organizationId: string, row: NewEndpoint) =>
  tx('webhook_endpoints').insert({ ...row, organization_id: organizationId });

export const updateEndpoint = (tx: Tx, organizationId: string, id: string, change: EndpointChange) =>
  endpoints(tx, organizationId)
    .where({ id })
    .update({ ...change, updated_at: tx.raw('clock_timestamp()') });

/** Of an endpoint whose attempts don't fail. */
export const well = { failures: 0, failing_since: null, waits_until: null } as const;

export const deleteEndpoint = (tx: Tx, organizationId: string, id: string) =>
  endpoints(tx, organizationId).where({ id }).delete();

/** By resource, the token of the last delivered change; null: nothing was delivered. */
export type Positions = ReadonlyMap<string, string | null>;

export async function readPositions(tx: Tx, organizationId: string, endpointId: string): Promise<Positions> {
  const rows = await tx('webhook_positions')
    .where({ organization_id: organizationId, endpoint_id: endpointId })
    .select<{ resource: string; since: string | null }[]>('resource', 'since');
  return new Map(rows.map(({ resource, since }) => [resource, since]));
}

export const savePosition = (
  tx: Tx,
  organizationId: string,
  endpointId: string,
  resource: string,
  since: string | null,
) =>
  tx('webhook_positions')
    .insert({ organization_id: organizationId, endpoint_id: endpointId, resource, since })
    .onConflict(['endpoint_id', 'resource'])
    .merge(['since']);
