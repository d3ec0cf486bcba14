// One of several processes that serve requests at one port. It stops when its parent says so, and when its parent
// is gone: signals that a terminal or a supervisor sends to all processes at once are the parent's.
import cluster from 'node:cluster';
import { type Config, readConfig } from '../config.ts';
import { createLog } from '../core/log.ts';
import type { Lifecycle } from '../core/work/lifecycle.ts';
import { closeDatabase, openDatabase } from '../open-database.ts';
import { runCommand, stopAndExit } from '../run-command.ts';
import type { Service } from '../service.ts';
import { divideConfig } from './divide.ts';
import type { Answers, Question, Role, ToChild, ToParent } from './messages.ts';
import { createPermitClient, type PermitClient } from './permits.ts';

/** False when the parent is gone. */
function send(message: ToParent, sent: () => void = () => undefined): boolean {
  if (process.connected !== true) return false;
  process.send?.(message, undefined, undefined, sent);
  return true;
}

/** What the parent says; `service` is undefined while it starts. */
type Link = { replaced: boolean; service: Service | undefined; readonly permits: PermitClient };

async function answer({ service }: Link, question: Question): Promise<Answers[keyof Answers] | null> {
  const monitoring = service?.monitoring;
  if (monitoring === undefined) return null;
  return question.ask === 'metrics' ? monitoring.json() : monitoring.checkTls(question.domains);
}

/** Stops `life` when the parent says so or is gone, and then ends the process. */
function listenToParent(life: Lifecycle, link: Link): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  cluster.worker?.on('disconnect', () => {
    // Node.js would end the process at once.
    Object.assign(cluster.worker ?? {}, { exitedAfterDisconnect: true });
    stopAndExit(life);
  });
  process.on('message', async (message: ToChild) => {
    if (message.kind === 'acquired') link.permits.onAcquired(message.id, message.isGranted);
    else if (message.kind === 'stop') {
      link.replaced = message.replaced;
      stopAndExit(life);
    } else {
      const value = await answer(link, message).catch(() => null);
      send({ kind: 'answer', id: message.id, value });
    }
  });
  send({ kind: 'ready' });
}

/** So that the parent can add up what this process counted until its end. */
async function sendLastMetrics({ service }: Link): Promise<void> {
  const metrics = await service?.monitoring?.counters();
  if (metrics === undefined) return;
  await new Promise<void>((resolve) => {
    if (!send({ kind: 'last-metrics', metrics }, resolve)) resolve();
  });
}

async function serveAsChild(config: Config, role: Role, life: Lifecycle, link: Link): Promise<void> {
  const own = divideConfig(config, role.of);
  // As in a process of its own: it attaches to the embedded server, and the last process stops that.
  const opened = await life.open(() => openDatabase(own), closeDatabase);
  await life.open(
    () => Promise.resolve(),
    () => sendLastMetrics(link),
  );
  const [{ startService }, { printOwnerLink }] = await Promise.all([
    import('../service.ts'),
    import('./serve.ts'),
  ]);
  const { openSemaphore } = link.permits;
  const log = createLog(config.LOG_LEVEL).child({ process: role.number, pid: process.pid });
  const service = await life.open(
    () => startService(own, opened, log, undefined, { openSemaphore, syncs: role.syncs }),
    (running) => running.stop({ replaced: link.replaced }),
  );
  link.service = service;
  log.info({ url: service.url, syncs: role.syncs }, 'serving');
  send({ kind: 'serving', url: service.url });
  if (role.printsLink) await printOwnerLink(service);
}

/** `role`: as the parent wrote it. Ends the process as `runCommand` does. */
export async function runChild(
  environment: Readonly<Record<string, string | undefined>>,
  role: string,
): Promise<void> {
  const link: Link = { replaced: false, service: undefined, permits: createPermitClient(send) };
  await runCommand(
    '',
    'The service',
    (life) => serveAsChild(readConfig(environment), JSON.parse(role) as Role, life, link),
    (life) => listenToParent(life, link),
  );
}
