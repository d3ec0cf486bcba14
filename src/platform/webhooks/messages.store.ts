// Rows of webhook_messages and webhook_attempts, which src/webhooks/announce.ts inserts as well: events for one endpoint,
// and the log of what was sent.
import { createId } from '../../core/id.ts';
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import { recordsChanged, testEvent } from '../../webhooks/index.ts';

export const messageStatuses = ['waiting', 'delivered', 'failed', 'superseded'] as const;
export const attemptReasons = ['event', 'retry', 'replay', 'test'] as const;

export type MessageRow = {
  id: string;
  type: string;
  /** What receivers get, without records. */
  data: Readonly<Record<string, unknown>>;
  /** Of changed records, as are `since`, where the message begins, and `next_since`, what its receiver knows then. */
  resource: string | null;
  since: string | null;
  next_since: string | null;
  status: (typeof messageStatuses)[number];
  attempts: number;
  due_at: Date;
  created_at: Date;
  ended_at: Date | null;
};
const columns = [
  'id',
  'type',
  'data',
  'resource',
  'since',
  'next_since',
  'status',
  'attempts',
  'due_at',
  'created_at',
  'ended_at',
] as const;

const messages = (tx: Tx, organizationId: string, endpointId: string) =>
  tx('webhook_messages').where({ organization_id: organizationId, endpoint_id: endpointId });

export type MessageFilter = {
  readonly status?: MessageRow['status'] | undefined;
  readonly type?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
};

function filtered(tx: Tx, organizationId: string, endpointId: string, filter: MessageFilter) {
  const { status, type, after, before } = filter;
  const query = messages(tx, organizationId, endpointId);
  if (status !== undefined) query.where({ status });
  if (type !== undefined) query.where({ type });
  if (after !== undefined) query.where('created_at', '>', after);
  if (before !== undefined) query.where('created_at', '<', before);
  return query;
}

export const listMessageRows = (
  tx: Tx,
  organizationId: string,
  endpointId: string,
  page: PageQuery,
  filter: MessageFilter,
) =>
  readPage<MessageRow>(
    filtered(tx, organizationId, endpointId, filter)
      .select(...columns)
      .orderBy('id', 'desc'),
    page,
  );

export const findMessageRow = async (tx: Tx, organizationId: string, endpointId: string, id: string) =>
  messages(tx, organizationId, endpointId)
    .where({ id })
    .first<MessageRow | undefined>(...columns);

/** Locks the endpoint's waiting message about a resource. */
export const lockWaiting = async (tx: Tx, organizationId: string, endpointId: string, resource: string) =>
  messages(tx, organizationId, endpointId)
    .where({ resource, status: 'waiting' })
    .forUpdate()
    .first<MessageRow | undefined>(...columns);

/**
 * The next message that is due. While attempts fail, it is the one that was attempted the least, so that one that its
 * receiver never accepts doesn't hold up the others.
 */
export async function findDue(
  tx: Tx,
  organizationId: string,
  { id, failures }: { readonly id: string; readonly failures: number },
  now: Date,
): Promise<MessageRow | undefined> {
  const query = messages(tx, organizationId, id).where({ status: 'waiting' }).where('due_at', '<=', now);
  if (failures > 0) query.orderBy('attempts');
  return query.orderBy('id').first<MessageRow | undefined>(...columns);
}

/** When the endpoint's next message is due; undefined when none waits. */
export async function findNextDue(tx: Tx, organizationId: string, endpointId: string) {
  const row = await messages(tx, organizationId, endpointId)
    .where({ status: 'waiting' })
    .min<{ at: Date | null }>('due_at as at')
    .first();
  return row?.at ?? undefined;
}

export type RecordsMessage = Pick<MessageRow, 'data' | 'since' | 'next_since'> & {
  readonly resource: string;
};

export const insertRecordsMessage = (
  tx: Tx,
  organizationId: string,
  endpointId: string,
  { data, ...message }: RecordsMessage,
  now: Date,
) =>
  tx('webhook_messages').insert({
    ...{ id: createId(), organization_id: organizationId, endpoint_id: endpointId, type: recordsChanged },
    ...{ ...message, data: JSON.stringify(data), status: 'waiting', due_at: now, created_at: now },
  });

export const updateMessage = (
  tx: Tx,
  organizationId: string,
  id: string,
  { data, ...change }: Partial<Omit<MessageRow, 'id' | 'type' | 'created_at'>>,
) =>
  tx('webhook_messages')
    .where({ organization_id: organizationId, id })
    .update({ ...change, ...(data !== undefined && { data: JSON.stringify(data) }) });

/** After a restore: messages that wait in the backup may have been sent since, with other contents. */
export const withdrawRestored = (tx: Tx, organizationId: string) =>
  tx('webhook_messages')
    .where({ organization_id: organizationId, status: 'waiting' })
    .whereNotNull('resource')
    .update({ status: 'superseded', ended_at: tx.raw('clock_timestamp()') });

/** It was delivered. False when it no longer waited. */
export const endWaiting = async (tx: Tx, organizationId: string, id: string, at: Date): Promise<boolean> =>
  (await tx('webhook_messages')
    .where({ organization_id: organizationId, id, status: 'waiting' })
    .update({ status: 'delivered', ended_at: at })) === 1;

/** Waiting messages are due now. */
export const hurry = (tx: Tx, organizationId: string, endpointId: string, now: Date) =>
  messages(tx, organizationId, endpointId).where({ status: 'waiting' }).update({ due_at: now });

type Withdrawn =
  | { readonly otherTypes: readonly string[] }
  | { readonly resources: readonly string[] }
  | { readonly otherResources: readonly string[] };

/** Waiting messages of other types, about these resources, or about others are not sent. */
export function withdraw(tx: Tx, organizationId: string, endpointId: string, which: Withdrawn, now: Date) {
  const query = messages(tx, organizationId, endpointId).where({ status: 'waiting' });
  if ('otherTypes' in which) query.whereNotIn('type', which.otherTypes);
  else if ('resources' in which) query.whereIn('resource', which.resources);
  else query.whereNotNull('resource').whereNotIn('resource', which.otherResources);
  return query.update({ status: 'superseded', ended_at: now });
}

/** Messages of these types, other than changed records, are sent again, under their ids. Returns their number. */
export const repeatMessages = (
  tx: Tx,
  organizationId: string,
  endpointId: string,
  filter: MessageFilter & { readonly id?: string },
  types: readonly string[],
  now: Date,
): Promise<number> => {
  const { id, ...span } = filter;
  const query = filtered(tx, organizationId, endpointId, span).whereNull('resource').whereIn('type', types);
  if (id !== undefined) query.where({ id });
  return query.update({ status: 'waiting', due_at: now, attempts: 0, ended_at: null });
};

/** By resource, where the first message about it in a span of time began: what followed is sent again. */
export async function listBeginnings(
  tx: Tx,
  organizationId: string,
  endpointId: string,
  filter: MessageFilter & { readonly id?: string },
): Promise<ReadonlyMap<string, string | null>> {
  const { id, ...span } = filter;
  const query = filtered(tx, organizationId, endpointId, span).whereNotNull('resource');
  if (id !== undefined) query.where({ id });
  const rows = await query
    .distinctOn('resource')
    .orderBy(['resource', 'id'])
    .select<Pick<MessageRow, 'resource' | 'since'>[]>('resource', 'since');
  return new Map(rows.map(({ resource, since }) => [resource ?? '', since]));
}

export type AttemptRow = {
  number: number;
  reason: (typeof attemptReasons)[number];
  started_at: Date;
  duration_ms: number;
  status: number | null;
  error: string | null;
  response: string | null;
};

export async function insertAttempt(
  tx: Tx,
  organizationId: string,
  message: Pick<MessageRow, 'id' | 'type' | 'attempts'>,
  attempt: Omit<AttemptRow, 'number' | 'reason'>,
): Promise<void> {
  const own = { organization_id: organizationId, message_id: message.id };
  const [made] = await tx('webhook_attempts').where(own).count<{ count: string }[]>();
  const number = Number(made?.count ?? 0) + 1;
  const first = message.type === testEvent ? 'test' : number > 1 ? 'replay' : 'event';
  const reason = message.attempts > 0 ? 'retry' : first;
  await tx('webhook_attempts').insert({ ...attempt, ...own, id: createId(), number, reason });
}

/** In the order in which they were made; of a page of messages, all attempts. */
export async function listAttempts(tx: Tx, organizationId: string, messageIds: readonly string[]) {
  const rows = await tx('webhook_attempts')
    .where({ organization_id: organizationId })
    .whereIn('message_id', messageIds)
    .orderBy(['message_id', 'number'])
    .select<(AttemptRow & { message_id: string })[]>(
      ...['message_id', 'number', 'reason', 'started_at', 'duration_ms', 'status', 'error', 'response'],
    );
  return Map.groupBy(rows, ({ message_id: id }) => id);
}
