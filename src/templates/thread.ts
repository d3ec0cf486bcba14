// One worker thread for all templates of the process.
import { unavailable } from '../core/errors.ts';
import { inRoot } from '../core/root.ts';
import { createWorkerThread, type WorkerThreadOptions } from '../core/work/worker-thread.ts';
import { type TaskResult, type TemplateTask, templateLimits } from './template.ts';

const defaults: WorkerThreadOptions = {
  program: inRoot('src/templates/worker.ts'),
  deadlineMs: templateLimits.deadlineMs,
  heapMb: templateLimits.maxHeapMb,
  maxWaiting: templateLimits.maxWaiting,
  tooManyWaiting: unavailable('Too many templates are waiting to be rendered', 5),
};

/** `given` only in tests. `run` rejects with 503 `unavailable`, to be retried after 5 s, when too many wait. */
export const createTemplateThread = (given: Partial<WorkerThreadOptions> = {}) =>
  createWorkerThread<TemplateTask, TaskResult>({ ...defaults, ...given });
