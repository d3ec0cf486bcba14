// A worker thread for one kind of task, started on first use and terminated when idle. It runs
// one task at a time. A task that exceeds its time or memory is stopped by terminating the thread, and the
// service's own event loop never waits for it. It never runs two tasks of one organization in a row while
// another organization's task waits.
import { Worker } from 'node:worker_threads';
import { Semaphore } from './semaphore.ts';

/** Why the thread had to be terminated. */
type Stopped = 'too_slow' | 'too_much_work';

export type WorkerThread<Task, Result extends object> = {
  /**
   * Queues the task and resolves to its result, or to why it was stopped. Rejects with
   * `tooManyWaiting` when `maxWaiting` tasks wait already, and with an Error when the thread ends
   * unexpectedly.
   */
  run(organizationId: string, task: Task): Promise<Result | Stopped>;
};

export type WorkerThreadOptions = {
  /** Posts `ready` once, and then the result of each task that it receives. */
  readonly program: string | URL;
  /** Wall-clock time of a task, counted from when the thread starts on it. */
  readonly deadlineMs: number;
  readonly heapMb: number;
  readonly maxWaiting: number;
  /** Of one organization; `maxWaiting` by default. */
  readonly maxWaitingPerOwner?: number;
  readonly idleMs?: number;
  readonly tooManyWaiting: Error;
};

const findErrorCode = (error: unknown): string | undefined => (error as { code?: string }).code;

/** Timer ticks instead of elapsed time, so that a process that was suspended doesn't blame the task. */
const ticksPerDeadline = 10;

/**
 * Resolves to the next message after `send`, or to `too_slow` or `too_much_work`; rejects when the thread
 * fails or ends. Failures are delayed by `setImmediate`, so that a message that has already arrived wins over
 * a deadline or an exit that is reported before it.
 */
function nextMessage(worker: Worker, deadlineMs: number | null, send: () => void): Promise<unknown> {
  return new Promise<unknown>((resolve, reject) => {
    let failure: unknown;
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      if (ticks >= ticksPerDeadline) setImmediate(() => settle(() => resolve('too_slow')));
    };
    const timer = deadlineMs === null ? undefined : setInterval(tick, deadlineMs / ticksPerDeadline);
    const fail = (error: unknown): void => {
      failure ??= error;
      setImmediate(() =>
        settle(() =>
          findErrorCode(failure) === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve('too_much_work') : reject(failure),
        ),
      );
    };
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onExit = () => fail(new Error('the worker thread ended'));
    function settle(outcome: () => void): void {
      clearInterval(timer);
      worker.off('message', onMessage).off('error', fail).off('exit', onExit);
      outcome();
    }
    worker.once('message', onMessage).once('error', fail).once('exit', onExit);
    send();
  });
}

async function startWorker({ heapMb, program }: WorkerThreadOptions): Promise<Worker> {
  const worker = new Worker(program, {
    // The thread sees nothing of the process.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  });
  await nextMessage(worker, null, () => undefined);
  return worker;
}

const ignore = (): void => undefined;
const defaultIdleMs = 60_000;

/** Starts no thread before the first task. `run` rejects as WorkerThread describes. */
export function createWorkerThread<Task, Result extends object>(
  options: WorkerThreadOptions,
): WorkerThread<Task, Result> {
  const { deadlineMs, maxWaiting, maxWaitingPerOwner = maxWaiting, tooManyWaiting } = options;
  const { idleMs = defaultIdleMs } = options;
  // One permit: of the organizations that wait, the one whose last task is longest ago is next.
  const turns = new Semaphore({ maxRunning: 1, maxWaiting, maxWaitingPerOwner }, { full: tooManyWaiting });
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  function terminate(): void {
    thread?.terminate().catch(ignore);
    thread = undefined;
  }

  async function start(): Promise<Worker> {
    const worker = await startWorker(options);
    // A thread that ends between two tasks must not end the process; the next task starts another one.
    worker.on('error', ignore).once('exit', () => {
      if (thread === worker) thread = undefined;
    });
    thread = worker;
    return worker;
  }

  async function runNow(task: Task): Promise<Result | Stopped> {
    const worker = thread ?? (await start());
    worker.ref();
    try {
      const outcome = (await nextMessage(worker, deadlineMs, () => worker.postMessage(task))) as
        | Result
        | Stopped;
      if (typeof outcome === 'string') terminate();
      return outcome;
    } catch (error) {
      terminate();
      throw error;
    } finally {
      worker.unref();
    }
  }

  return {
    async run(organizationId, task) {
      const release = await turns.acquire(organizationId);
      clearTimeout(idle);
      try {
        return await runNow(task);
      } finally {
        release();
        if (turns.stats().running === 0) idle = setTimeout(terminate, idleMs).unref();
      }
    },
  };
}
