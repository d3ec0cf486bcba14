// A receiver of webhooks that knows only what it is told: it refuses some messages, takes others and breaks off, and worker
// processes are killed (kill -9) while they send to it. What it reads from the addresses in messages must give the list.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { startRecurring } from '../../../src/core/work/recurring.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { makeDue } from '../../setup/jobs.ts';
import { listenLocally } from '../../setup/sockets.ts';
import { until } from '../../setup/until.ts';
import type { Stage } from '../actions.ts';
import { patiently } from '../company.ts';
import type { RecordTypeName } from '../plan-names.ts';
import { createRandom } from '../random.ts';
import type { Survivors } from './clients.ts';
import { openCopy } from './copy.ts';
import { toResource } from './published.ts';
import { readRun } from './run-report.ts';
import type { Service, Snapshot } from './served.ts';

export type Receiver = {
  /** Refuses everything from now on. */
  leave(): void;
  /** Takes everything from now on, and gets what it missed: of each resource, one message. */
  comeBack(): Promise<void>;
  /** Takes what is due now, if that can be had. */
  look(): Promise<void>;
  /** Refuses everything until the returned function is called; resolves when nothing is being read. */
  pause(): Promise<() => void>;
  lose(survivors: Survivors): void;
  /** Describes how its copy differs from the list, once all messages have arrived. */
  problems(recordType: RecordTypeName, snapshot: Snapshot): Promise<string[]>;
  /** How many messages it has taken. */
  count(): number;
  stop(): Promise<void>;
};
export type ReceiverStage = Pick<Stage, 'fixture' | 'plan' | 'company' | 'workers' | 'report'>;

type Event = {
  readonly type: string;
  readonly data: {
    readonly resource: string;
    readonly generation: number;
    readonly startOver: boolean;
    readonly next: string;
    readonly runId: string;
  };
};
const events = ['records.changed', 'sync.failed', 'sync.partial', 'sync.recovered'];
/** What runs with these events may be. */
const statuses: Readonly<Record<string, readonly string[]>> = {
  'sync.failed': ['failed', 'cancelled'],
  'sync.partial': ['partial', 'failed'],
  'sync.recovered': ['succeeded'],
};

const hurryMs = 150;
const settleWithinMs = 30_000;
const lookWithinMs = 5_000;
const maxKills = 3;

/** Resolves once the receiver has a copy of everything, and an endpoint. Rejects when it can't be created. */
export async function openReceiver(
  { fixture, plan, company, workers, report }: ReceiverStage,
  service: Service,
  version: string,
): Promise<Receiver> {
  const random = createRandom(plan.seed);
  const follows = new Map(
    plan.recordTypes.map((recordType) => [
      toResource(recordType),
      { recordType, copy: openCopy(service, recordType), told: 0 },
    ]),
  );
  /** By id. */
  const [arrived, taken] = [new Map<string, string>(), new Map<string, Event>()];
  const wrong: string[] = [];
  let manner: 'moody' | 'good' | 'away' = 'moody';
  let reading: Promise<unknown> = Promise.resolve();
  let secret = '';
  /** Directed plans say themselves when a process is killed, and one that stood still sends what was due then. */
  let kills =
    plan.quiet === false || plan.rounds.some(({ green, published }) => green || published) ? 0 : maxKills;
  const isOrdered = plan.rounds.every(({ during }) => during.every(({ action }) => action.do !== 'freeze'));

  const inspect = (id: string, body: string, headers: IncomingMessage['headers']): Event => {
    const event = new Webhook(secret).verify(body, headers as Record<string, string>) as Event;
    const before = arrived.get(id);
    if (before !== undefined && before !== body)
      wrong.push(`${id} came with other contents: ${before} ${body}`);
    arrived.set(id, body);
    const { resource, generation } = event.data;
    const follow = follows.get(resource);
    if (follow === undefined) return event;
    if (isOrdered && generation < follow.told)
      wrong.push(`${resource}: generation ${generation} comes after ${follow.told}`);
    follow.told = Math.max(follow.told, generation);
    return event;
  };
  const take = (id: string, { type, data }: Event): void => {
    if (taken.has(id)) return;
    taken.set(id, { type, data });
    report.note(
      `webhook ${type} ${data.resource ?? data.runId} ${data.generation ?? ''} ${data.startOver ? 'start over' : ''}`,
    );
    reading = reading.then(async () => {
      if (type === 'records.changed') {
        const since = new URL(data.next, fixture.url).searchParams.get('since');
        if ((since === null) !== data.startOver) wrong.push(`${data.next}: startOver is ${data.startOver}`);
        await follows.get(data.resource)?.copy.readFrom(since, data.generation);
        return;
      }
      const { status } = await readRun(company.api, data.runId);
      if (statuses[type]?.includes(status) !== true) wrong.push(`${type} of a run that is ${status}`);
    });
    reading.catch((error: unknown) => wrong.push(String(error)));
  };
  const kill = async (): Promise<void> => {
    const [pid] = random.sample(workers.pids(), 1);
    if (kills === 0 || pid === undefined) return;
    kills -= 1;
    report.coverage['kill at a webhook'].injected += 1;
    report.coverage['kill at a webhook'].hit += 1;
    report.note('a worker is killed at a webhook');
    await workers.replace(pid);
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString();
    const id = String(request.headers['webhook-id']);
    const event = inspect(id, body, request.headers);
    const mood = { moody: random.between(1, 20), good: 20, away: 1 }[manner];
    if (mood > 12) {
      take(id, event);
      return void response.writeHead(204).end();
    }
    report.coverage['refused webhook'].injected += 1;
    report.coverage['refused webhook'].hit += 1;
    if (mood <= 4) return void response.writeHead(503, { 'retry-after': '1' }).end('not now');
    if (mood <= 6) return void response.writeHead(302, { location: fixture.url }).end();
    // It may have the message, and the sender doesn't know.
    if (random.chance(0.5)) take(id, event);
    if (mood <= 9) await kill();
    response.destroy();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      wrong.push(String(error));
      response.destroy();
    });
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;

  const inTenant: <T>(work: Parameters<typeof inTransaction<T>>[1]) => Promise<T> = (work) =>
    patiently(() => inTransaction(company.tenant, work));
  /** No one waits for retries. What other faults prevent is done the next time. */
  const hurry = async (): Promise<void> => {
    await inTenant((tx) => tx('webhook_endpoints').update({ waits_until: null }));
    await inTenant((tx) =>
      tx('webhook_messages')
        .where({ status: 'waiting' })
        .update({ due_at: new Date(0) }),
    );
    await inTenant((tx) => makeDue(tx, 'webhooks'));
  };
  const isAtRest = async (): Promise<boolean> => {
    const [job, message] = await inTenant((tx) =>
      Promise.all([
        tx('jobs')
          .where({ kind: 'webhooks' })
          .whereRaw("(lease_id is not null or due_at < clock_timestamp() + interval '1 minute')")
          .first('key'),
        tx('webhook_messages').where({ status: 'waiting' }).first('id'),
      ]),
    );
    return job === undefined && message === undefined;
  };
  /** Takes everything until nothing waits, after a turn that began now. */
  const settle = async (withinMs = settleWithinMs): Promise<boolean> => {
    manner = 'good';
    await hurrying.stop();
    let isMet = false;
    for (const end = performance.now() + withinMs; !isMet && performance.now() < end; ) {
      await hurry();
      isMet = await until(isAtRest, Math.min(1_000, withinMs)).catch(() => false);
    }
    await reading;
    manner = 'moody';
    hurrying = startRecurring(hurryMs, hurry, () => undefined);
    return isMet;
  };

  const settleAll = async (): Promise<void> => {
    if (!(await settle())) wrong.push('messages wait for too long');
  };

  const made = await company.ask(201, () =>
    company.api('post', '/webhooks', { url, events, version, keyId: company.keyId }),
  );
  secret = made.secret;
  for (const { copy } of follows.values()) await copy.readFrom(null, 0);
  let hurrying = startRecurring(hurryMs, hurry, () => undefined);
  return {
    leave: () => {
      manner = 'away';
    },
    async comeBack() {
      const before = taken.size;
      await settleAll();
      const resources = [...taken.values()].slice(before).flatMap(({ data }) => data.resource ?? []);
      if (new Set(resources).size < resources.length)
        wrong.push(`after an absence came several messages: ${resources.join(', ')}`);
    },
    look: async () => void (await settle(lookWithinMs)),
    async pause() {
      const last = manner;
      manner = 'away';
      await reading;
      return () => {
        manner = last;
      };
    },
    lose(survivors) {
      for (const follow of follows.values()) {
        const surviving = survivors.get(follow.recordType) ?? 0n;
        follow.told = Math.min(follow.told, Number(surviving));
        follow.copy.lose(surviving);
      }
    },
    async problems(recordType, snapshot) {
      await settleAll();
      const differences = follows.get(toResource(recordType))?.copy.differences(snapshot) ?? [];
      return [...wrong.splice(0), ...differences].map((text) => `by webhooks: ${text}`);
    },
    count: () => taken.size,
    async stop() {
      await hurrying.stop();
      await company.api('delete', `/webhooks/${made.id}`);
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
