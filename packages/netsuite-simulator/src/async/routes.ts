// Accepts requests with `Prefer: respond-async`, and serves /services/rest/async/v1: the jobs that they
// became, their tasks and results.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { toCollection } from '../records/read-record.ts';
import { invalidBody, recordNotFound } from '../records/record-errors.ts';
import { parseJsonBody } from '../records/write-body.ts';
import { getIntegration } from '../sign-in/caller.ts';
import { getOrigin, parsePreferences, RestError, sendCollection, sendJsonBody, sendSingle } from '../wire.ts';
import { type BackgroundRequest, captureRequest } from './background-request.ts';
import { type AsyncJob, type AsyncJobs, type AsyncTask, jobProgress, taskProgress } from './jobs.ts';

const PATH = '/services/rest/async/v1/job';
const APPLIED = { 'preference-applied': 'respond-async' };

const jobUrl = (request: Request, { id }: AsyncJob): string => `${getOrigin(request)}${PATH}/${id}`;

/** Answers 202 with the new job's URL. Throws RestError 400 for an idempotency key that was used before. */
export function acceptAsync(jobs: AsyncJobs): RequestHandler {
  return (request, response, next) => {
    if (!parsePreferences(request).includes('respond-async')) return next();
    const integration = getIntegration(response);
    const idempotencyKey = request.get('X-NetSuite-Idempotency-Key');
    const earlier = idempotencyKey === undefined ? undefined : jobs.findByKey(integration, idempotencyKey);
    if (earlier) throw repeatedKey(jobUrl(request, earlier));
    const job = jobs.submit({ integration, idempotencyKey }, splitRequest(request));
    response
      .status(202)
      .set({ ...APPLIED, location: jobUrl(request, job), 'content-type': 'application/json' })
      .end();
  };
}

const repeatedKey = (location: string): RestError =>
  new RestError(
    400,
    {
      detail:
        'A request with the same idempotency key is already submitted. See the "Location" header for a link to the previously submitted job',
      'o:errorCode': 'IDEMPOTENCY_ERROR',
    },
    {
      headers: { ...APPLIED, location },
      kind: ['Conflict', 'https://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html#sec10.4.10'],
    },
  );

/** The requests of the job's tasks: one per record of a collection in the body or of `ids` in the URL. */
function splitRequest(request: Request): BackgroundRequest[] {
  const [path = '', query = ''] = request.originalUrl.split('?');
  const parameters = new URLSearchParams(query);
  const ids = (parameters.get('ids') ?? '').split(',').filter(Boolean);
  const isExpanded = parameters.get('expandRecords') === 'true';
  for (const name of ['ids', 'expandRecords']) parameters.delete(name);
  const buildUrl = (id: string): string => `${path}/${encodeURIComponent(id)}?${parameters.toString()}`;
  if (/;\s*type=collection\b/.test(request.get('content-type') ?? '')) {
    return parseItems(request).map(({ id, ...fields }) =>
      captureRequest(request, {
        body: JSON.stringify(fields),
        ...(request.method === 'POST' ? {} : { url: buildUrl(String(id)) }),
      }),
    );
  }
  const isCollection = ids.length > 0 && (request.method !== 'GET' || isExpanded);
  return isCollection
    ? ids.map((id) => captureRequest(request, { url: buildUrl(id) }))
    : [captureRequest(request)];
}

function parseItems(request: Request): Record<string, unknown>[] {
  const { items } = parseJsonBody(request.body);
  if (
    !Array.isArray(items) ||
    items.length === 0 ||
    !items.every((item) => typeof item === 'object' && item !== null)
  )
    throw invalidBody();
  return items as Record<string, unknown>[];
}

/** The routes throw RestError 404 for another integration's job, as for an unknown one. */
export function asyncRoutes(jobs: AsyncJobs): Router {
  const router = Router();
  router.get('/job/:job', (request, response) => sendJob(getJob(jobs, request, response), request, response));
  router.get('/job/:job/task', (request, response) =>
    sendTasks(getJob(jobs, request, response), request, response),
  );
  router.get('/job/:job/task/:task', (request, response) => {
    const job = getJob(jobs, request, response);
    return sendTask(getTask(job, request), jobUrl(request, job), request, response);
  });
  router.get('/job/:job/task/:task/result', (request, response) =>
    sendResult(getTask(getJob(jobs, request, response), request), response),
  );
  return router;
}

function getJob(jobs: AsyncJobs, request: Request, response: Response): AsyncJob {
  const job = jobs.find(getIntegration(response), String(request.params['job']));
  if (!job) throw recordNotFound();
  return job;
}

function getTask({ tasks }: AsyncJob, request: Request): AsyncTask {
  const number = String(request.params['task']);
  const task = /^[1-9]\d*$/.test(number) ? tasks[Number(number) - 1] : undefined;
  if (!task) throw recordNotFound();
  return task;
}

const isCompleted = (progress: string): boolean => progress === 'succeeded' || progress === 'failed';

function sendJob(job: AsyncJob, request: Request, response: Response): Promise<void> {
  const [href, progress] = [jobUrl(request, job), jobProgress(job)];
  const task = { links: [{ rel: 'self', href: `${href}/task` }] };
  return sendSingle(response, {
    links: [{ rel: 'self', href }],
    completed: isCompleted(progress),
    id: job.id,
    progress,
    task,
  });
}

function sendTasks(job: AsyncJob, request: Request, response: Response): Promise<void> {
  const href = `${jobUrl(request, job)}/task`;
  const items = job.tasks.map((_task, index) => ({ links: [{ rel: 'self', href: `${href}/${index + 1}` }] }));
  const links = [{ rel: 'self', href }];
  return sendCollection(response, { links, ...toCollection(items) });
}

const seconds = (at: Date): string => `${at.toISOString().slice(0, 19)}Z`;

function sendTask(task: AsyncTask, job: string, request: Request, response: Response): Promise<void> {
  const [id, progress] = [String(request.params['task']), taskProgress(task)];
  const href = `${job}/task/${id}`;
  return sendSingle(response, {
    links: [...(task.answer ? [{ rel: 'related', href: `${href}/result` }] : []), { rel: 'self', href }],
    completed: isCompleted(progress),
    ...(task.endedAt ? { endTime: seconds(task.endedAt) } : {}),
    id,
    progress,
    ...(task.startedAt ? { startTime: seconds(task.startedAt) } : {}),
  });
}

/** What the request would have been answered synchronously; 404 until it has been run. */
async function sendResult({ answer }: AsyncTask, response: Response): Promise<void> {
  if (!answer) throw recordNotFound();
  const { status, headers, body } = answer;
  for (const name of ['location', 'x-netsuite-propertyvalidation'])
    if (headers[name] !== undefined) response.set(name, String(headers[name]));
  if (body === '') response.status(status).end();
  else await sendJsonBody(response, status, String(headers['content-type']), JSON.parse(body));
}
