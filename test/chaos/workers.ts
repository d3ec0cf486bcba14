// The worker processes of a seed. One is killed and another one takes its place, as an orchestrator would do
// it.
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Fixture } from './fixture.ts';
import type { Plan } from './plan.ts';
import type { WorkerOrder } from './worker-process.ts';

export type Workers = {
  pids(): number[];
  /** kill -9, then a new process. */
  replace(pid: number): Promise<void>;
  /**
   * The process stands still and another one is started, as when a machine is suspended. Returns how to let
   * it go on.
   */
  freeze(pid: number): Promise<() => void>;
  stop(): Promise<void>;
};

const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));

/** The mutant is applied to the sources that the process loads. */
const mutated = (name: string | undefined): ForkOptions =>
  name === undefined
    ? {}
    : {
        execArgv: [...process.execArgv, '--import', new URL('./mutants/hooks.ts', import.meta.url).href],
        env: { ...process.env, CHAOS_MUTANT: name },
      };

export async function startWorkers(fixture: Fixture, plan: Plan): Promise<Workers> {
  const { settings } = fixture.ctx;
  const order: WorkerOrder = {
    address: fixture.address,
    settings: { ...settings, sync: { ...settings.sync, workers: plan.workers, pageSize: plan.pageSize } },
    key: fixture.key,
    logLevel: fixture.logLevel,
  };
  const working = new Map<number, ChildProcess>();
  const start = async (): Promise<void> => {
    const child = fork(script, [JSON.stringify(order)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      ...mutated(fixture.mutant),
    });
    const { pid } = child;
    if (pid === undefined) throw new Error('no worker could be started');
    working.set(pid, child);
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    // One that was killed is no longer there.
    if (child.exitCode !== null && working.has(pid)) throw new Error('a worker ended before it was ready');
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    working.delete(child.pid ?? 0);
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await Promise.all(Array.from({ length: plan.processes }, start));
  return {
    pids: () => [...working.keys()],
    async replace(pid) {
      const child = working.get(pid);
      if (child === undefined) throw new Error('that worker is not there');
      await kill(child);
      await start();
    },
    async freeze(pid) {
      const child = working.get(pid);
      if (child === undefined) throw new Error('that worker is not there');
      child.kill('SIGSTOP');
      await start();
      return () => void child.kill('SIGCONT');
    },
    stop: async () => {
      await Promise.all([...working.values()].map(kill));
    },
  };
}
