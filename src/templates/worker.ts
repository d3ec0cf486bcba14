// The thread that parses and renders templates: no state between tasks, no access to the service.
import { parentPort } from 'node:worker_threads';
import { measureCpuTime } from './liquid/cpu-time.ts';
import { runTask } from './run-task.ts';
import type { TemplateTask } from './template.ts';

measureCpuTime();
parentPort?.on('message', (task: TemplateTask) => parentPort?.postMessage(runTask(task)));
parentPort?.postMessage('ready');
