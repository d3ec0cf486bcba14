// The worker thread that parses and renders templates. It keeps no state between tasks and has no access to the service.
import { parentPort } from 'node:worker_threads';
import { runTask } from './engine.ts';
import type { TemplateTask } from './template.ts';

// Liquid measures its render limit with `performance.now`. Here that is the CPU time of this thread, so that a busy or briefly suspended
// machine doesn't fail a rendering.
const now = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
Object.defineProperty(globalThis, 'performance', { value: { now } });

parentPort?.on('message', (task: TemplateTask) => parentPort?.postMessage(runTask(task)));
parentPort?.postMessage('ready');
