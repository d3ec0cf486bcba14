// The worker thread that parses and renders templates. It keeps no state between tasks and has no access to
// the service.
import { parentPort } from 'node:worker_threads';
import { measureCpuTime } from './liquid/cpu-time.ts';
import { runTask } from './run-task.ts';
import type { TemplateTask } from './template.ts';

measureCpuTime();
parentPort?.on('message', (task: TemplateTask) => parentPort?.postMessage(runTask(task)));
parentPort?.postMessage('ready');
