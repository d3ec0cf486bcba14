// The thread in which templates are read and rendered. It holds nothing between two tasks and knows nothing of the service.
import { parentPort } from 'node:worker_threads';
import { perform } from './engine.ts';
import type { Task } from './template.ts';

// The clock that Liquid measures a rendering by. It shows the processor time of this thread, so that a machine that is busy or
// stands still for a moment fails no mail.
const now = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
Object.defineProperty(globalThis, 'performance', { value: { now } });

parentPort?.on('message', (task: Task) => parentPort?.postMessage(perform(task)));
parentPort?.postMessage('ready');
