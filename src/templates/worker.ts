// The thread in which templates are read and rendered. It holds nothing between two tasks and knows nothing of the service.
import { parentPort } from 'node:worker_threads';
import { perform } from './engine.ts';
import type { Task } from './template.ts';

parentPort?.on('message', (task: Task) => parentPort?.postMessage(perform(task)));
parentPort?.postMessage('ready');
