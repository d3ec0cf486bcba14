// Callers in a process of their own: many kinds at once over raw sockets, in a closed loop (the next request when the answer is there) or
// at a rate (sent when due, and timed from then). Every answer is counted by its status; what breaks off is counted as 0.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { quantile } from './reads-load.ts';

export type Kind = {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Asked for at random. */
  readonly paths: readonly string[];
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly body?: string;
  readonly connections: number;
  /** Of all connections together; null: as many as are answered. */
  readonly perSecond: number | null;
};
export type Seen = {
  readonly name: string;
  readonly statuses: Readonly<Record<number, number>>;
  /** Of answers below 400. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of all others. */
  readonly refusedP99Ms: number;
};
type Order = { readonly kinds: readonly Kind[]; readonly forMs: number };

const patienceMs = 60_000;

function requestBytes({ method = 'GET', headers, body }: Kind, path: string): Buffer {
  const lines = Object.entries({ Host: 'bench', ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) });
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}${length}\r\n${body ?? ''}`,
  );
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = '0\r\n\r\n';

/** Reads one answer after the other; `onAnswer` gets the status of each, once it is there whole. */
function readAnswers(socket: Socket, onAnswer: (status: number) => void): void {
  let head = Buffer.alloc(0);
  let status = 0;
  /** What is missing of a body of known length; null for one in chunks, of which only the end is looked for. */
  let missing: number | null = 0;
  let tail = '';
  const done = (): void => {
    const seen = status;
    status = 0;
    tail = '';
    onAnswer(seen);
  };
  const readHead = (end: number): void => {
    const text = head.toString('latin1', 0, end);
    const rest = head.subarray(end + headEnd.length);
    head = Buffer.alloc(0);
    status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    missing = status === 304 || status === 204 ? 0 : length === undefined ? null : Number(length);
    if (missing === 0) done();
    else take(rest);
  };
  const take = (bytes: Buffer): void => {
    if (status === 0) {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf(headEnd);
      if (end !== -1) readHead(end);
    } else if (missing === null) {
      tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - lastChunk.length))).slice(-lastChunk.length);
      if (tail === lastChunk) done();
    } else {
      missing -= bytes.length;
      if (missing <= 0) done();
    }
  };
  socket.on('data', take);
}

type Ended = (status: number, ms: number) => void;

/** One connection, made anew when it breaks; asks one thing at a time. */
function openCaller(kind: Kind, requests: readonly Buffer[], onAnswer: Ended) {
  const { hostname, port } = new URL(kind.url);
  let socket: Socket | undefined;
  let asked: { readonly sinceMs: number; readonly then: () => void } | undefined;
  let over = false;
  const settle = (status: number): void => {
    const answered = asked;
    asked = undefined;
    if (answered === undefined) return;
    onAnswer(status, performance.now() - answered.sinceMs);
    answered.then();
  };
  const dial = (): Socket => {
    const made = connect({ host: hostname, port: Number(port), noDelay: true });
    made.setTimeout(patienceMs, () => made.destroy());
    made.on('error', () => undefined);
    made.on('close', () => {
      socket = undefined;
      // Whatever was asked is not answered any more; at the end nobody wants it.
      if (!over) settle(0);
    });
    readAnswers(made, settle);
    return made;
  };
  return {
    isFree: () => asked === undefined,
    ask(sinceMs: number, then: () => void = () => undefined): void {
      asked = { sinceMs, then };
      socket ??= dial();
      socket.write(requests[Math.floor(Math.random() * requests.length)] ?? '');
    },
    end(): void {
      over = true;
      socket?.destroy();
    },
  };
}

async function runKind(kind: Kind, forMs: number): Promise<Seen> {
  const [good, refused]: [number[], number[]] = [[], []];
  const statuses: Record<number, number> = {};
  // Written once: for each connection anew it took the first second of a crowd.
  const requests = kind.paths.map((path) => requestBytes(kind, path));
  const startMs = performance.now();
  const untilMs = startMs + forMs;
  const note: Ended = (status, ms) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    (status > 0 && status < 400 ? good : refused).push(ms);
  };
  const callers = Array.from({ length: kind.connections }, () => openCaller(kind, requests, note));
  if (kind.perSecond === null) {
    const again = (caller: (typeof callers)[number]): void => {
      if (performance.now() < untilMs) caller.ask(performance.now(), () => setImmediate(again, caller));
    };
    callers.forEach(again);
    await new Promise((resolve) => setTimeout(resolve, forMs));
  } else await askAtRate(callers, 1000 / kind.perSecond, startMs, untilMs);
  const seconds = (performance.now() - startMs) / 1000;
  for (let waitedMs = 0; callers.some((caller) => !caller.isFree()) && waitedMs < patienceMs && kind.perSecond !== null; waitedMs += 20)
    await new Promise((resolve) => setTimeout(resolve, 20));
  for (const caller of callers) caller.end();
  for (const list of [good, refused]) list.sort((a, b) => a - b);
  return {
    name: kind.name,
    statuses,
    perSecond: good.length / seconds,
    p50Ms: quantile(good, 0.5),
    p99Ms: quantile(good, 0.99),
    refusedP99Ms: quantile(refused, 0.99),
  };
}

/** What is due while all connections are busy waits for one, and its time counts from when it was due. */
async function askAtRate(callers: ReturnType<typeof openCaller>[], everyMs: number, startMs: number, untilMs: number): Promise<void> {
  const due: number[] = [];
  let nextMs = startMs + Math.random() * everyMs;
  const serve = (): void => {
    while (due.length > 0) {
      const free = callers.find((caller) => caller.isFree());
      if (free === undefined) return;
      free.ask(due.shift() ?? 0, () => setImmediate(serve));
    }
  };
  while (nextMs < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextMs - performance.now())));
    for (; nextMs <= performance.now() && nextMs < untilMs; nextMs += everyMs) due.push(nextMs);
    serve();
  }
}

export type Callers = {
  /** Throws when the process has ended. */
  run(kinds: readonly Kind[], forMs: number): Promise<Map<string, Seen>>;
  stop(): void;
};

export function startCallers(): Callers {
  const child = fork(fileURLToPath(import.meta.url), ['call'], { execArgv: process.execArgv });
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('the callers are gone')));
  gone.catch(() => undefined);
  return {
    async run(kinds, forMs) {
      const told = once(child, 'message') as Promise<[Seen[]]>;
      child.send({ kinds, forMs } satisfies Order);
      const [seen] = await Promise.race([told, gone]);
      return new Map(seen.map((each) => [each.name, each]));
    },
    stop: () => child.disconnect(),
  };
}

async function call({ kinds, forMs }: Order): Promise<void> {
  process.send?.(await Promise.all(kinds.map((kind) => runKind(kind, forMs))));
}
if (process.argv[2] === 'call') {
  process.on('message', (order) => void call(order as Order));
  process.on('disconnect', () => process.exit(0));
}
