// Webhooks: how soon after a publish an endpoint is called for the first time, while one of them never answers and one
// always fails. The receivers are a process of their own. Writes its table to bench/RESULTS.md.
// Usage: npm run bench -- webhooks [endpoints, default 100 and 1000]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { startWebhooks } from '../src/platform/webhooks/deliver.ts';
import { sealSecret } from '../src/platform/webhooks/secrets.ts';
import { createReadEngine } from '../src/public/index.ts';
import { announce, createWebhookSecret } from '../src/webhooks/index.ts';
import { createBenchOrganization } from './organization.ts';
import { describeLoad, describeMachine, type Line, median, p95, toLine, writeTable } from './table.ts';
import { type Database, withDatabase, withWorkspace } from './workspace.ts';

const rounds = 5;
const [hanging, failing] = ['/0', '/1'];
/** Of the specification, for 100 endpoints. */
const goal = { target: 2_000, floor: 2_000, lowerIsBetter: true };

/** Answers at `/n`, and reports each first call of a round. */
async function serve(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    process.send?.([request.url, performance.timeOrigin + performance.now()]);
    if (request.url === hanging) return;
    response.writeHead(request.url === failing ? 500 : 204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

type Insert = { readonly ctx: Ctx; readonly organizationId: string; readonly port: number };

async function insertEndpoints({ ctx, organizationId, port }: Insert, count: number): Promise<void> {
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const key = await tx('api_keys').first<{ id: string }>('id');
    for (let n = 0; n < count; n += 1) {
      const id = createId();
      await tx('webhook_endpoints').insert({
        ...{ id, organization_id: organizationId, url: `http://127.0.0.1:${port}/${n}`, description: '' },
        ...{ events: ['sync.failed'], resources: [], api_key_id: key.id, include: 'none', signature: 'v1' },
        secret: sealSecret({ ...ctx, organizationId }, id, createWebhookSecret('v1')),
        enabled: true,
      });
    }
  });
}

/** Milliseconds from the commit to the first call, by endpoint that answers. */
async function measureRound(
  ctx: Ctx,
  organizationId: string,
  count: number,
  calls: ReadonlyMap<string, number>,
): Promise<number[]> {
  (calls as Map<string, number>).clear();
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    announce(tx, organizationId, 'sync.failed', {}),
  );
  const committed = performance.timeOrigin + performance.now();
  const end = performance.now() + 120_000;
  const answering = () => [...calls].filter(([path]) => path !== hanging && path !== failing);
  while (answering().length < count - 2 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (answering().length < count - 2) throw new Error('some endpoints were never called');
  return answering().map(([, at]) => Math.max(0, at - committed));
}

async function measure({ ctx }: Database, count: number): Promise<Line[]> {
  const { id: organizationId } = await createBenchOrganization(ctx);
  const receivers = fork(import.meta.filename, ['serve']);
  const [port] = (await once(receivers, 'message')) as [number];
  const calls = new Map<string, number>();
  receivers.on('message', ([path, at]: [string, number]) => {
    if (!calls.has(path)) calls.set(path, at);
  });
  await insertEndpoints({ ctx, organizationId, port }, count);
  const worker = startWebhooks({ ...ctx, reads: createReadEngine(ctx) });
  const waits: number[][] = [];
  for (let round = 0; round < rounds; round += 1)
    waits.push(await measureRound(ctx, organizationId, count, calls));
  receivers.kill();
  await worker.stop();
  return [
    toLine(`from a commit to the first call of ${count} endpoints, median`, waits.map(median), ' ms', 0),
    toLine('… p95', waits.map(p95), ' ms', 0, count === 100 ? goal : null),
  ];
}

const [argument] = process.argv.slice(2);
if (argument === 'serve') await serve();
else if (argument === undefined || /^[1-9]\d{0,4}$/.test(argument))
  await withWorkspace((folder) =>
    withDatabase(folder, { ALLOW_PRIVATE_ERP_HOSTS: 'true' }, async (database) => {
      const day = database.ctx.clock.now().toISOString().slice(0, 10);
      const counts = argument === undefined ? [100, 1_000] : [Number(argument)];
      const lines: Line[] = [];
      for (const count of counts) lines.push(...(await measure(database, count)));
      const heading = `Run of ${day}: one endpoint never answers, one always fails.${describeLoad()}\n${await describeMachine(database.admin)}`;
      return writeTable('webhooks', heading, lines);
    }),
  );
else {
  console.error('Usage: npm run bench -- webhooks [endpoints]');
  process.exit(2);
}
