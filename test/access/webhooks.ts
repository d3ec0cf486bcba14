// Receives webhooks about changed records, at an endpoint for each reader and resource: one comes exactly when something
// changed in the meantime that the feed of the reader reports. It says what the feed says from there on, and nothing else.
import { expect } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { type Received, startReceiver } from '../platform/webhooks/receiver.ts';
import { findJob, makeDue } from '../setup/jobs.ts';
import { until } from '../setup/until.ts';
import type { Answer } from './call.ts';
import type { Follower } from './feed.ts';
import { allowedNames, type Case, computeExpected, inspect } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { parseExact } from './random.ts';
import { haveChanged, readRows } from './stream.ts';

type Change = { readonly op: 'upsert' | 'delete'; readonly id: string; readonly record: unknown };
type Page = { readonly data: readonly Change[]; readonly next: string; readonly hasMore: boolean };
type Data = {
  readonly upserts: string;
  readonly deletes: string;
  readonly next: string;
  readonly changes: readonly Change[];
  readonly hasMore: boolean;
};

const toAnswer = ({ body, headers }: Received): Answer => ({
  status: 200,
  headers: {},
  head: Object.entries(headers).join('\n'),
  raw: Buffer.from(body),
  text: body,
  isWhole: true,
});

/** The reader is a key. */
export function createWebhookFollower(given: Case): Follower {
  const one: Case = { ...given, query: plainQuery };
  const { oracle, reader, version, endpoint } = one;
  const { tenant, ownerSecret } = oracle.fixture;
  const receiving = startReceiver();
  /** Undefined for one that isn't allowed. */
  let webhookId: string | undefined;
  let before: ReadonlyMap<string, string> | undefined;
  const copy = new Map<string, unknown>();

  const create = async (): Promise<void> => {
    const body = {
      ...{ url: (await receiving).url, events: ['records.changed'], keyId: reader.keyId, include: 'records' },
      ...{ version: version.version, resources: [endpoint.name] },
    };
    const headers = { authorization: `Bearer ${ownerSecret}` };
    const path = '/api/platform/v1/webhooks';
    const { status, text } = await oracle.service.call({ method: 'POST', path, headers, body });
    if (status === 201) webhookId = (JSON.parse(text) as { id: string }).id;
    else expect((await computeExpected(one, [])).kind, text).toBe('refused');
  };
  const receive = async (): Promise<readonly Received[]> => {
    const key = webhookId;
    if (key === undefined) return [];
    await inTransaction(tenant, (tx) => makeDue(tx, 'webhooks'));
    await oracle.service.sendWebhooks();
    // Another follower's worker may have it.
    await until(async () => {
      const job = await inTransaction(tenant, (tx) => findJob(tx, 'webhooks', key));
      return job === undefined || (job.lease_id === null && job.due_at > new Date());
    });
    return (await receiving).take();
  };
  const readOn = async (next: string): Promise<Change[]> => {
    const changes: Change[] = [];
    for (let path = next, hasMore = true; hasMore; ) {
      const { status, text } = await oracle.get(reader, path.replace('/api/public/', ''));
      expect(status, text).toBe(200);
      const page = parseExact(text) as Page;
      changes.push(...page.data);
      path = `${path.replace(/\?.*/, '')}?since=${page.next}`;
      hasMore = page.hasMore;
    }
    return changes;
  };
  const check = async (message: Received, records: ReadonlyMap<string, unknown>): Promise<void> => {
    const {
      version: label,
      resource,
      generation,
      startOver,
      ...rest
    } = (parseExact(message.body) as { data: Data & Record<string, unknown> }).data;
    expect([label, resource, startOver]).toEqual([version.version, endpoint.name, false]);
    expect(generation).toEqual(expect.stringMatching(/^#\d+$/));
    const { upserts, deletes, next, changes, hasMore } = rest;
    const all = await readOn(next);
    expect(changes).toEqual(all.slice(0, changes.length));
    expect(hasMore).toBe(changes.length < all.length);
    const count = (op: Change['op']): string => `#${all.filter((change) => change.op === op).length}`;
    expect([upserts, deletes]).toEqual([count('upsert'), count('delete')]);
    const known = new Set([...copy.keys(), ...records.keys()]);
    inspect(one, toAnswer(message), next, {
      names: new Set([...allowedNames(one, 'resource'), ...known]),
      records: [...records.values()],
    });
    for (const { op, id, record } of all) {
      if (op === 'delete') copy.delete(id);
      else copy.set(id, record);
    }
  };
  return {
    catchUp: async () => {
      const now = await readRows(one);
      const isFirst = before === undefined && webhookId === undefined;
      if (isFirst) await create();
      const messages = await receive();
      const expected = await computeExpected(one, []);
      if (now === undefined || expected.kind === 'refused') return void expect(messages).toEqual([]);
      const records = new Map(expected.records.map((record) => [String(record['id']), record]));
      const isTold = before !== undefined && haveChanged(before, now);
      expect(messages.map(({ event }) => event.type)).toEqual(isTold ? ['records.changed'] : []);
      if (isFirst) for (const [id, record] of records) copy.set(id, record);
      for (const message of messages) await check(message, records);
      expect(new Map([...copy].sort())).toEqual(new Map([...records].sort()));
      before = now;
    },
    stop: async () => (await receiving).stop(),
  };
}
