// Samples a Node.js process from outside: memory and open handles from /proc, and the live heap through the
// inspector protocol.
import { readdir } from 'node:fs/promises';
import { readMemory } from './reads-load.ts';

export type ProcessSample = {
  readonly rssMegabytes: number;
  readonly heapMegabytes: number;
  readonly handles: number;
};

type Reply = { id?: number; result?: { usedSize?: number } };

/**
 * `port` is that of `--inspect`. Rejects when nothing listens there or the inspector refuses the connection.
 */
export async function openInspector(
  pid: number,
  port: number,
): Promise<{ sample(): Promise<ProcessSample>; close(): void }> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  if (target === undefined) throw new Error(`No inspector target on port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The inspector refused the connection')));
  });
  let lastId = 0;
  const call = (method: string): Promise<Reply> =>
    new Promise((resolve) => {
      lastId += 1;
      const id = lastId;
      const onMessage = (event: MessageEvent): void => {
        const reply = JSON.parse(String(event.data)) as Reply;
        if (reply.id !== id) return;
        socket.removeEventListener('message', onMessage);
        resolve(reply);
      };
      socket.addEventListener('message', onMessage);
      socket.send(JSON.stringify({ id, method }));
    });
  return {
    async sample() {
      const rssMegabytes = (await readMemory(pid)).now;
      // Collect garbage first, so that only live objects count.
      await call('HeapProfiler.collectGarbage');
      const { result } = await call('Runtime.getHeapUsage');
      const handles = (await readdir(`/proc/${pid}/fd`)).length;
      return { rssMegabytes, heapMegabytes: (result?.usedSize ?? Number.NaN) / 2 ** 20, handles };
    },
    close: () => socket.close(),
  };
}
