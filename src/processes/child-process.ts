// A child as its parent sees it.
import cluster, { type Worker } from 'node:cluster';
import type { MetricObject } from 'prom-client';
import type { Answers, Question, Role, ToChild, ToParent } from './messages.ts';
import type { Permits } from './permits.ts';

export type Child = {
  readonly role: Role;
  readonly pid: number | undefined;
  /** Resolves with its URL. Rejects when it ends before. */
  readonly serving: Promise<string>;
  /** Resolves with its exit code or signal, or with why it could not be spawned. */
  readonly ended: Promise<string>;
  /** Undefined when it has nothing to answer, when it ends, and when it doesn't answer within two seconds. */
  ask<T extends Question>(question: T): Promise<Answers[T['ask']] | undefined>;
  /** Stops it gracefully. */
  stop(replaced: boolean): void;
  kill(): void;
};

type Value = Answers[keyof Answers] | null;
/** A stopped or blocked child must not hold up those who ask all children. */
const maxAnswerMs = 2_000;

/** Questions to one child, and its answers. */
function createQuestions(send: (message: ToChild) => unknown) {
  const waiting = new Map<number, (value: Value) => void>();
  let lastId = 0;
  return {
    ask: async <T extends Question>(question: T): Promise<Answers[T['ask']] | undefined> => {
      lastId += 1;
      const id = lastId;
      const { promise, resolve } = Promise.withResolvers<Value>();
      waiting.set(id, resolve);
      const timeout = setTimeout(resolve, maxAnswerMs, null);
      send({ kind: 'question', id, ...question });
      const value = await promise;
      clearTimeout(timeout);
      waiting.delete(id);
      return (value ?? undefined) as Answers[T['ask']] | undefined;
    },
    onAnswer: (id: number, value: Value): void => waiting.get(id)?.(value),
    onEnded(): void {
      for (const resolve of waiting.values()) resolve(null);
    },
  };
}

/** Calls `onEnded` with the exit code or signal, or with why the process could not be spawned. */
function watchEnd(worker: Worker, onEnded: (how: string) => void): void {
  worker.once('exit', (code, signal) => onEnded(signal ?? `exit code ${code}`));
  // A process that was never spawned doesn't exit. For one that was, a message or a signal failed: if that is
  // because it ends, its exit follows.
  worker.on('error', (error: Error) => {
    if (worker.process.pid === undefined) onEnded(error.message);
  });
}

/** Forks a child. `onLastMetrics` is called with what it counted before it stopped. */
export function forkChild(
  role: Role,
  permits: Permits,
  onLastMetrics: (child: Child, metrics: readonly MetricObject[]) => void,
): Child {
  cluster.setupPrimary({ args: ['child', JSON.stringify(role)] });
  const worker = cluster.fork();
  const [serving, ended, ready] = [
    Promise.withResolvers<string>(),
    Promise.withResolvers<string>(),
    Promise.withResolvers<void>(),
  ];
  serving.promise.catch(() => undefined);
  // A child that has just ended takes no message.
  const send = (message: ToChild): unknown => worker.isConnected() && worker.send(message, () => undefined);
  const ofChild = permits.connect(send);
  const questions = createQuestions(send);
  const child: Child = {
    role,
    pid: worker.process.pid,
    serving: serving.promise,
    ended: ended.promise,
    ask: async (question) => (worker.isConnected() ? questions.ask(question) : undefined),
    stop: (replaced) => void ready.promise.then(() => send({ kind: 'stop', replaced })),
    kill: () => void worker.process.kill('SIGKILL'),
  };
  worker.on('message', (message: ToParent) => {
    if (message.kind === 'ready') ready.resolve();
    else if (message.kind === 'serving') serving.resolve(message.url);
    else if (message.kind === 'acquire') void ofChild.acquire(message);
    else if (message.kind === 'release') ofChild.release(message.id);
    else if (message.kind === 'last-metrics') onLastMetrics(child, message.metrics);
    else questions.onAnswer(message.id, message.value);
  });
  watchEnd(worker, (how) => {
    ofChild.releaseAll();
    questions.onEnded();
    serving.reject(new Error(how));
    ended.resolve(how);
  });
  return child;
}
