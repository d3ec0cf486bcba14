// A child as its parent sees it.
import cluster from 'node:cluster';
import type { MetricObject } from 'prom-client';
import type { Answers, Question, Role, ToChild, ToParent } from './messages.ts';
import type { Permits } from './permits.ts';

export type Child = {
  readonly role: Role;
  readonly pid: number | undefined;
  /** Resolves with its URL. Rejects when it ends before. */
  readonly serving: Promise<string>;
  /** Resolves with its exit code or signal. */
  readonly ended: Promise<string>;
  /** Undefined when it has nothing to answer, and when it ends. */
  ask<T extends Question>(question: T): Promise<Answers[T['ask']] | undefined>;
  /** Stops it gracefully. */
  stop(replaced: boolean): void;
  kill(): void;
};

type Value = Answers[keyof Answers] | null;

/** Questions to one child, and its answers. */
function createQuestions(send: (message: ToChild) => unknown) {
  const waiting = new Map<number, (value: Value) => void>();
  let lastId = 0;
  return {
    ask: async <T extends Question>(question: T): Promise<Answers[T['ask']] | undefined> => {
      lastId += 1;
      const { promise, resolve } = Promise.withResolvers<Value>();
      waiting.set(lastId, resolve);
      send({ kind: 'question', id: lastId, ...question });
      return ((await promise) ?? undefined) as Answers[T['ask']] | undefined;
    },
    onAnswer(id: number, value: Value): void {
      waiting.get(id)?.(value);
      waiting.delete(id);
    },
    onEnded(): void {
      for (const resolve of waiting.values()) resolve(null);
    },
  };
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
  worker.once('exit', (code, signal) => {
    ofChild.releaseAll();
    questions.onEnded();
    const how = signal ?? `exit code ${code}`;
    serving.reject(new Error(how));
    ended.resolve(how);
  });
  return child;
}
