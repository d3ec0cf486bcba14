// A load generator that is cheap compared with the servers it measures: raw sockets, requests serialized in
// advance, one request at a time per connection. Also reads a process's CPU time and memory from /proc.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';

export type RequestSet = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
};
export type LoadResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the server's processes, in µs per request. */
  readonly cpuUs: number;
};

const ticksPerSecond = 100;
export async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Fields after the name in parentheses, counted from 0: state is 0, user time 11, system time 12 (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Peak and current resident memory of a process, in MB. */
export async function readMemory(pid: number): Promise<{ peak: number; now: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { peak: megabytes('VmHWM'), now: megabytes('VmRSS') };
}

export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

const requestBytes = ({ url, headers }: RequestSet, path: string): Buffer =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
  );

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Length in bytes of the response at the start of `bytes`; undefined until its head is complete. Throws on an
 * unexpected status.
 */
function responseLength(bytes: Buffer, expected: number): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return undefined;
  const head = bytes.toString('latin1', 0, end);
  if (!head.startsWith(`HTTP/1.1 ${expected}`))
    throw new Error(`Unexpected response ${head.slice(0, 12)}: ${bytes.toString('utf8', end, end + 400)}`);
  if (expected === 304) return end + 4;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error('A response has no Content-Length');
  return end + 4 + Number(length);
}

/**
 * Sends requests over one keep-alive connection until `untilMs`; calls `onResponse` with the duration of each
 * in ms.
 */
function runConnection(
  url: string,
  expected: number,
  untilMs: number,
  nextRequest: () => Buffer,
  onResponse: (ms: number) => void,
): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let received: Buffer | undefined;
    let length: number | undefined;
    let sentMs = 0;
    const send = (): void => {
      if (performance.now() >= untilMs) {
        socket.destroy();
        resolve();
        return;
      }
      sentMs = performance.now();
      socket.write(nextRequest());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      try {
        received = received === undefined ? chunk : Buffer.concat([received, chunk]);
        length ??= responseLength(received, expected);
      } catch (error) {
        socket.destroy();
        return reject(error);
      }
      if (length === undefined || received.length < length) return;
      received = undefined;
      length = undefined;
      onResponse(performance.now() - sentMs);
      send();
    });
  });
}

/**
 * Runs a closed loop over `connections` for `durationMs`; each request picks a path at random, of all sets
 * when there are several, which are for one server. `pids` are the server's processes. Rejects on an unexpected
 * status.
 */
export async function measureLoad(
  pids: number | readonly number[],
  requestSets: RequestSet | readonly RequestSet[],
  connections: number,
  durationMs: number,
  expected = 200,
): Promise<LoadResult> {
  const sets = [requestSets].flat();
  const requests = sets.flatMap((set) => set.paths.map((path) => requestBytes(set, path)));
  const nextRequest = (): Buffer => requests[Math.floor(Math.random() * requests.length)] ?? Buffer.alloc(0);
  const durationsMs: number[] = [];
  const readCpu = async () =>
    (await Promise.all([pids].flat().map(readCpuSeconds))).reduce((sum, seconds) => sum + seconds, 0);
  const [cpuBefore, startMs] = [await readCpu(), performance.now()];
  const runOne = () =>
    runConnection(sets[0]?.url ?? '', expected, startMs + durationMs, nextRequest, (ms) =>
      durationsMs.push(ms),
    );
  await Promise.all(Array.from({ length: connections }, runOne));
  const seconds = (performance.now() - startMs) / 1000;
  const cpuUs = (((await readCpu()) - cpuBefore) * 1e6) / durationsMs.length;
  durationsMs.sort((a, b) => a - b);
  return {
    perSecond: durationsMs.length / seconds,
    p50Ms: quantile(durationsMs, 0.5),
    p99Ms: quantile(durationsMs, 0.99),
    cpuUs,
  };
}
