// A load generator that costs little beside the servers it measures: raw sockets, requests written beforehand, one answer read
// before the next is asked for. And what a process took of the machine meanwhile, from /proc.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';

export type Ask = { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly paths: readonly string[] };
export type Load = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server's process, in µs per request. */
  readonly cpuUs: number;
};

const ticksPerSecond = 100;
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Behind the name in parentheses: state is the first, user and system time the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The most memory that a process ever held, and what it holds now, in MB. */
export async function memoryOf(pid: number): Promise<{ peak: number; now: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { peak: megabytes('VmHWM'), now: megabytes('VmRSS') };
}

export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

const requestBytes = ({ headers }: Ask, path: string): Buffer =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: bench\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
  );

const headEnd = Buffer.from('\r\n\r\n');

/** How many bytes the answer in `bytes` has; undefined while its head is not complete. Throws for what the bench doesn't expect. */
function answerLength(bytes: Buffer, expected: number): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return undefined;
  const head = bytes.toString('latin1', 0, end);
  if (!head.startsWith(`HTTP/1.1 ${expected}`)) throw new Error(`answered ${head.slice(0, 12)}: ${bytes.toString('utf8', end, end + 400)}`);
  if (expected === 304) return end + 4;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error('an answer without Content-Length');
  return end + 4 + Number(length);
}

/** One keep-alive connection that asks until `untilMs`; calls `onAnswer` with the milliseconds that each took. */
function oneConnection(ask: Ask, expected: number, untilMs: number, next: () => Buffer, onAnswer: (ms: number) => void): Promise<void> {
  const { hostname, port } = new URL(ask.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let held: Buffer | undefined;
    let length: number | undefined;
    let sentMs = 0;
    const send = (): void => {
      if (performance.now() >= untilMs) {
        socket.destroy();
        resolve();
        return;
      }
      sentMs = performance.now();
      socket.write(next());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      try {
        held = held === undefined ? chunk : Buffer.concat([held, chunk]);
        length ??= answerLength(held, expected);
      } catch (error) {
        socket.destroy();
        return reject(error);
      }
      if (length === undefined || held.length < length) return;
      held = undefined;
      length = undefined;
      onAnswer(performance.now() - sentMs);
      send();
    });
  });
}

/** Closed loop of so many connections for so long, each asking for paths at random. */
export async function load(pid: number, ask: Ask, connections: number, forMs: number, expected = 200): Promise<Load> {
  const requests = ask.paths.map((path) => requestBytes(ask, path));
  const next = (): Buffer => requests[Math.floor(Math.random() * requests.length)] ?? Buffer.alloc(0);
  const took: number[] = [];
  const [cpuBefore, startMs] = [await cpuSecondsOf(pid), performance.now()];
  const each = () => oneConnection(ask, expected, startMs + forMs, next, (ms) => took.push(ms));
  await Promise.all(Array.from({ length: connections }, each));
  const seconds = (performance.now() - startMs) / 1000;
  const cpuUs = (((await cpuSecondsOf(pid)) - cpuBefore) * 1e6) / took.length;
  took.sort((a, b) => a - b);
  return { perSecond: took.length / seconds, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99), cpuUs };
}
