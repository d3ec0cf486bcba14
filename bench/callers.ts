// A load generator in its own process. It runs several workloads at once over raw sockets, either in a closed
// loop (the next request follows the response) or at a fixed rate (sent when due and timed from the moment it
// was due). Responses are counted by status; a broken connection counts as status 0.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { quantile } from './reads-load.ts';

export type Workload = {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each request adds one of them at random. */
  readonly headerSets?: readonly Readonly<Record<string, string>>[];
  /** Each request picks one at random. */
  readonly paths: readonly string[];
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly body?: string;
  readonly connections: number;
  /** Over all connections together; null runs a closed loop. */
  readonly perSecond: number | null;
};
export type WorkloadResult = {
  readonly name: string;
  readonly statuses: Readonly<Record<number, number>>;
  /** Responses below 400. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of each response below 400, ascending. */
  readonly latenciesMs: readonly number[];
  /** Of responses of 400 or above and of broken connections. */
  readonly errorP99Ms: number;
};
type RunRequest = { readonly workloads: readonly Workload[]; readonly durationMs: number };

const timeoutMs = 60_000;

function requestBytes(
  { method = 'GET', headers, body }: Workload,
  path: string,
  more: Readonly<Record<string, string>>,
): Buffer {
  const lines = Object.entries({
    Host: 'bench',
    ...headers,
    ...more,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  });
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}${length}\r\n${body ?? ''}`,
  );
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = '0\r\n\r\n';

/** Parses responses one after the other; calls `onResponse` with the status once a response is complete. */
function readResponses(socket: Socket, onResponse: (status: number) => void): void {
  let head = Buffer.alloc(0);
  let status = 0;
  /**
   * Bytes still missing of a body with Content-Length; null for a chunked body, where only the last chunk is
   * looked for.
   */
  let missing: number | null = 0;
  let tail = '';
  const done = (): void => {
    const finishedStatus = status;
    status = 0;
    tail = '';
    onResponse(finishedStatus);
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
      tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - lastChunk.length))).slice(
        -lastChunk.length,
      );
      if (tail === lastChunk) done();
    } else {
      missing -= bytes.length;
      if (missing <= 0) done();
    }
  };
  socket.on('data', take);
}

type OnResponse = (status: number, ms: number) => void;

/** One keep-alive connection, reopened when it breaks, with one request at a time. */
function createCaller(workload: Workload, requests: readonly Buffer[], onResponse: OnResponse) {
  const { hostname, port } = new URL(workload.url);
  let socket: Socket | undefined;
  let pending: { readonly sinceMs: number; readonly then: () => void } | undefined;
  let closed = false;
  const completeRequest = (status: number): void => {
    const completed = pending;
    pending = undefined;
    if (completed === undefined) return;
    onResponse(status, performance.now() - completed.sinceMs);
    completed.then();
  };
  const openConnection = (): Socket => {
    const connection = connect({ host: hostname, port: Number(port), noDelay: true });
    connection.setTimeout(timeoutMs, () => connection.destroy());
    connection.on('error', () => undefined);
    connection.on('close', () => {
      socket = undefined;
      // A request in flight failed. After close() it no longer counts.
      if (!closed) completeRequest(0);
    });
    readResponses(connection, completeRequest);
    return connection;
  };
  return {
    isIdle: () => pending === undefined,
    send(sinceMs: number, then: () => void = () => undefined): void {
      pending = { sinceMs, then };
      socket ??= openConnection();
      socket.write(requests[Math.floor(Math.random() * requests.length)] ?? '');
    },
    close(): void {
      closed = true;
      socket?.destroy();
    },
  };
}

async function runWorkload(workload: Workload, durationMs: number): Promise<WorkloadResult> {
  const [succeededMs, failedMs]: [number[], number[]] = [[], []];
  const statuses: Record<number, number> = {};
  // Serialized once: doing it per connection took the first second of a run with 600 connections.
  const { paths, headerSets = [{}] } = workload;
  const requests = paths.flatMap((path) => headerSets.map((more) => requestBytes(workload, path, more)));
  const startMs = performance.now();
  const untilMs = startMs + durationMs;
  const recordResponse: OnResponse = (status, ms) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    (status > 0 && status < 400 ? succeededMs : failedMs).push(ms);
  };
  const callers = Array.from({ length: workload.connections }, () =>
    createCaller(workload, requests, recordResponse),
  );
  if (workload.perSecond === null) {
    const sendNext = (caller: (typeof callers)[number]): void => {
      if (performance.now() < untilMs) caller.send(performance.now(), () => setImmediate(sendNext, caller));
    };
    callers.forEach(sendNext);
    await new Promise((resolve) => setTimeout(resolve, durationMs));
  } else await sendAtRate(callers, 1000 / workload.perSecond, startMs, untilMs);
  const seconds = (performance.now() - startMs) / 1000;
  for (
    let waitedMs = 0;
    callers.some((caller) => !caller.isIdle()) && waitedMs < timeoutMs && workload.perSecond !== null;
    waitedMs += 20
  )
    await new Promise((resolve) => setTimeout(resolve, 20));
  for (const caller of callers) caller.close();
  for (const list of [succeededMs, failedMs]) list.sort((a, b) => a - b);
  return {
    name: workload.name,
    statuses,
    perSecond: succeededMs.length / seconds,
    p50Ms: quantile(succeededMs, 0.5),
    p99Ms: quantile(succeededMs, 0.99),
    latenciesMs: succeededMs,
    errorP99Ms: quantile(failedMs, 0.99),
  };
}

/**
 * A request that is due while all connections are busy waits for one; its duration counts from when it was
 * due.
 */
async function sendAtRate(
  callers: ReturnType<typeof createCaller>[],
  everyMs: number,
  startMs: number,
  untilMs: number,
): Promise<void> {
  const due: number[] = [];
  let nextMs = startMs + Math.random() * everyMs;
  const sendDue = (): void => {
    while (due.length > 0) {
      const idle = callers.find((caller) => caller.isIdle());
      if (idle === undefined) return;
      idle.send(due.shift() ?? 0, () => setImmediate(sendDue));
    }
  };
  while (nextMs < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextMs - performance.now())));
    for (; nextMs <= performance.now() && nextMs < untilMs; nextMs += everyMs) due.push(nextMs);
    sendDue();
  }
}

export type Callers = {
  /** Rejects when the child process has exited. */
  run(workloads: readonly Workload[], durationMs: number): Promise<Map<string, WorkloadResult>>;
  stop(): void;
};

export function startCallers(): Callers {
  const child = fork(fileURLToPath(import.meta.url), ['call'], { execArgv: process.execArgv });
  const exited = once(child, 'exit').then(() =>
    Promise.reject(new Error('The process of the callers has exited')),
  );
  exited.catch(() => undefined);
  return {
    async run(workloads, durationMs) {
      const reply = once(child, 'message') as Promise<[WorkloadResult[]]>;
      child.send({ workloads, durationMs } satisfies RunRequest);
      const [results] = await Promise.race([reply, exited]);
      return new Map(results.map((each) => [each.name, each]));
    },
    stop: () => child.disconnect(),
  };
}

async function runInChild({ workloads, durationMs }: RunRequest): Promise<void> {
  process.send?.(await Promise.all(workloads.map((kind) => runWorkload(kind, durationMs))));
}
if (process.argv[2] === 'call') {
  process.on('message', (request) => void runInChild(request as RunRequest));
  process.on('disconnect', () => process.exit(0));
}
