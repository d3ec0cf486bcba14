// One thread for all templates of the process, started when it is first needed and ended when it has been idle. It works on one task
// at a time; one that outstays its time or its memory ends with the thread, and the service's own event loop never waits for it.
// Organizations take turns, so that whoever sends many tasks delays the others by one.
import { Worker } from 'node:worker_threads';
import { unavailable } from '../core/errors.ts';
import type { Done, Task } from './template.ts';
import { templateLimits } from './template.ts';

/** `too_slow` and `too_much_work` when the thread had to be ended. */
export type Outcome = Done | 'too_slow' | 'too_much_work';

export type TemplateThread = { perform(organizationId: string, task: Task): Promise<Outcome> };
type Job = { organizationId: string; task: Task; resolve(outcome: Outcome): void; reject(error: unknown): void };

/** `program` is there for the tests of this file. */
export type ThreadOptions = { readonly deadlineMs: number; readonly heapMb: number; readonly idleMs: number; readonly program: URL };
const usual: ThreadOptions = {
  deadlineMs: templateLimits.deadlineMs,
  heapMb: templateLimits.heapMb,
  idleMs: 60_000,
  program: new URL('./worker.ts', import.meta.url),
};

const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code;

/** Looks and not time, so that a process that stood still itself blames no template. */
const looksPerDeadline = 10;

/** Waits for the next message; whatever else comes is a rejection. What lies ready is heard, though the news of an end may come before it. */
function nextMessage(worker: Worker, deadlineMs: number | null, ask: () => void): Promise<unknown> {
  return new Promise<unknown>((resolve, reject) => {
    let failure: unknown;
    let looks = 0;
    const look = (): void => {
      looks += 1;
      if (looks >= looksPerDeadline) setImmediate(() => settle(() => resolve('too_slow')));
    };
    const looking = deadlineMs === null ? undefined : setInterval(look, deadlineMs / looksPerDeadline);
    const fail = (error: unknown): void => {
      failure ??= error;
      setImmediate(() => settle(() => (codeOf(failure) === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve('too_much_work') : reject(failure))));
    };
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onExit = () => fail(new Error('the template thread ended'));
    function settle(outcome: () => void): void {
      clearInterval(looking);
      worker.off('message', onMessage).off('error', fail).off('exit', onExit);
      outcome();
    }
    worker.once('message', onMessage).once('error', fail).once('exit', onExit);
    ask();
  });
}

async function startWorker({ heapMb, program }: ThreadOptions): Promise<Worker> {
  const worker = new Worker(program, {
    // Nothing of the process is there to be found.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  });
  await nextMessage(worker, null, () => undefined);
  return worker;
}

const ignore = (): void => undefined;

export function openTemplateThread(given: Partial<ThreadOptions> = {}): TemplateThread {
  const options = { ...usual, ...given };
  const waiting: Job[] = [];
  let thread: Worker | undefined;
  let working = false;
  let lastServed = '';
  let idle: NodeJS.Timeout | undefined;

  function end(): void {
    const ending = thread;
    thread = undefined;
    ending?.terminate().catch(ignore);
  }

  async function start(): Promise<Worker> {
    const worker = await startWorker(options);
    // Whatever ends it between two tasks is no reason to end the process; the next task starts another.
    worker.on('error', ignore).once('exit', () => {
      if (thread === worker) thread = undefined;
    });
    thread = worker;
    return worker;
  }

  async function perform(task: Task): Promise<Outcome> {
    const worker = thread ?? (await start());
    worker.ref();
    try {
      const outcome = (await nextMessage(worker, options.deadlineMs, () => worker.postMessage(task))) as Outcome;
      if (typeof outcome === 'string') end();
      return outcome;
    } catch (error) {
      end();
      throw error;
    } finally {
      worker.unref();
    }
  }

  async function work(): Promise<void> {
    working = true;
    clearTimeout(idle);
    while (waiting.length > 0) {
      const other = waiting.findIndex(({ organizationId }) => organizationId !== lastServed);
      const [job] = waiting.splice(Math.max(other, 0), 1);
      if (job === undefined) break;
      lastServed = job.organizationId;
      await perform(job.task).then(job.resolve, job.reject);
    }
    working = false;
    idle = setTimeout(end, options.idleMs).unref();
  }

  return {
    perform: (organizationId, task) =>
      new Promise<Outcome>((resolve, reject) => {
        if (waiting.length >= templateLimits.waiting) throw unavailable('Too many templates wait to be rendered', 5);
        waiting.push({ organizationId, task, resolve, reject });
        if (!working) void work();
      }),
  };
}
