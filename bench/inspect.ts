// Looks into a process of Node.js from outside, by its inspector: how much its heap really holds, and what it has open.
import { readdir } from 'node:fs/promises';
import { memoryOf } from './reads-load.ts';

export type Insight = { readonly rssMegabytes: number; readonly heapMegabytes: number; readonly handles: number };

type Told = { id?: number; result?: { usedSize?: number } };

/** `port` is that of `--inspect`. */
export async function openInspector(pid: number, port: number): Promise<{ look(): Promise<Insight>; close(): void }> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  if (target === undefined) throw new Error('there is nothing to look into');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')));
  });
  let last = 0;
  const ask = (method: string): Promise<Told> =>
    new Promise((resolve) => {
      last += 1;
      const id = last;
      const onMessage = (event: MessageEvent): void => {
        const told = JSON.parse(String(event.data)) as Told;
        if (told.id !== id) return;
        socket.removeEventListener('message', onMessage);
        resolve(told);
      };
      socket.addEventListener('message', onMessage);
      socket.send(JSON.stringify({ id, method }));
    });
  return {
    async look() {
      const rssMegabytes = (await memoryOf(pid)).now;
      // Only what is still held counts, so the garbage goes first.
      await ask('HeapProfiler.collectGarbage');
      const { result } = await ask('Runtime.getHeapUsage');
      const handles = (await readdir(`/proc/${pid}/fd`)).length;
      return { rssMegabytes, heapMegabytes: (result?.usedSize ?? Number.NaN) / 2 ** 20, handles };
    },
    close: () => socket.close(),
  };
}
