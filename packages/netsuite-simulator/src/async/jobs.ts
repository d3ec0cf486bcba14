// Asynchronous requests: each is a job of one or several tasks, which are run one after another in the order
// of submission. Jobs are kept in memory and don't survive a restart.
import type { RequestListener } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Switches } from '../switches.ts';
import { type BackgroundAnswer, type BackgroundRequest, runInBackground } from './background-request.ts';

export type Progress = 'pending' | 'processing' | 'succeeded' | 'failed';
export type AsyncTask = {
  request: BackgroundRequest;
  startedAt?: Date;
  endedAt?: Date;
  answer?: BackgroundAnswer;
};
export type AsyncJob = {
  id: string;
  integration: string;
  idempotencyKey: string | undefined;
  tasks: readonly AsyncTask[];
};
export type AsyncJobs = {
  submit(
    job: Pick<AsyncJob, 'integration' | 'idempotencyKey'>,
    requests: readonly BackgroundRequest[],
  ): AsyncJob;
  /** The integration's job with this id. */
  find(integration: string, id: string): AsyncJob | undefined;
  /** The integration's job that was submitted with this idempotency key. */
  findByKey(integration: string, idempotencyKey: string): AsyncJob | undefined;
  /** Takes up no further task, and resolves when the running one has ended. */
  stop(): Promise<void>;
};

/** Older jobs are forgotten, with their results and idempotency keys. */
const MAX_JOBS = 1000;

export const taskProgress = ({ startedAt, answer }: AsyncTask): Progress =>
  answer ? (answer.status < 400 ? 'succeeded' : 'failed') : startedAt ? 'processing' : 'pending';

/** A job has failed when one of its tasks has. */
export function jobProgress({ tasks }: AsyncJob): Progress {
  const all = tasks.map(taskProgress);
  if (all.every((progress) => progress === 'pending')) return 'pending';
  if (all.includes('pending') || all.includes('processing')) return 'processing';
  return all.includes('failed') ? 'failed' : 'succeeded';
}

type Parts = { app: RequestListener; switches: Switches; clock: Clock; now: () => Date };

/**
 * `app` answers the requests; `now` is the account's clock, of which jobs have their times, and `clock` that
 * of the machine.
 */
export function createAsyncJobs({ app, switches, clock, now }: Parts): AsyncJobs {
  const jobs = new Map<string, AsyncJob>();
  const stopping = new AbortController();
  // Ids are in seconds of the wall clock at first, so that a client's ids from before a restart name no other
  // job.
  let lastId = Math.floor(clock.now().getTime() / 1000);
  let queue: Promise<unknown> = Promise.resolve();

  const runTask = async (task: AsyncTask): Promise<void> => {
    if (stopping.signal.aborted) return;
    task.startedAt = now();
    task.answer = await runInBackground(app, task.request);
    task.endedAt = now();
  };
  const runJob = async ({ tasks }: AsyncJob): Promise<void> => {
    const { asyncDelayMs } = switches;
    if (asyncDelayMs > 0)
      await wait(asyncDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    for (const task of tasks) await runTask(task);
  };
  const ofIntegration = (integration: string): AsyncJob[] =>
    [...jobs.values()].filter((job) => job.integration === integration);

  return {
    submit({ integration, idempotencyKey }, requests) {
      lastId += 1;
      const job = {
        id: String(lastId),
        integration,
        idempotencyKey,
        tasks: requests.map((request) => ({ request })),
      };
      jobs.set(job.id, job);
      const [oldest] = jobs.keys();
      if (jobs.size > MAX_JOBS && oldest !== undefined) jobs.delete(oldest);
      queue = queue.then(() => runJob(job));
      return job;
    },
    find: (integration, id) => ofIntegration(integration).find((job) => job.id === id),
    findByKey: (integration, key) => ofIntegration(integration).find((job) => job.idempotencyKey === key),
    async stop() {
      stopping.abort();
      await queue;
    },
  };
}
