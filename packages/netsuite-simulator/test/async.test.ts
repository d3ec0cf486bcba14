// `Prefer: respond-async`: jobs, their tasks and results. docs/wire.md has the sources.
import { describe, expect, it } from 'vitest';
import { type Answer, getCreatedId, readAnswer, signIn, toErrorDetail, useShop } from './test-account.ts';
import { until } from './until.ts';

const caller = useShop();

const ASYNC = { prefer: 'respond-async' };
const toPath = (href: string | null | undefined): string => href?.split('/services/rest/')[1] ?? '';
const submit = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> => caller.send(method, path, body, { ...ASYNC, ...headers });

/** The job's path once it is completed. */
const completed = (answer: Answer): Promise<string> => {
  const path = toPath(answer.headers.get('location'));
  return until(async () => ((await caller.read(path))['completed'] === true ? path : undefined));
};
const INVOICE = { entity: { id: '1' }, item: { items: [{ item: { id: '10' }, quantity: 2, rate: 5 }] } };

describe('an asynchronous request', () => {
  it('is accepted, run as a job of one task, and its result is what the synchronous request answers', async () => {
    const answer = await submit('POST', 'record/v1/invoice', INVOICE);
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([202, 'respond-async']);
    expect(answer.headers.get('location')).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/services\/rest\/async\/v1\/job\/\d+$/,
    );
    const path = await completed(answer);
    const job = `${caller.account.url}/services/rest/${path}`;
    expect(await caller.read(path)).toEqual({
      links: [{ rel: 'self', href: job }],
      completed: true,
      id: path.split('/').at(-1),
      progress: 'succeeded',
      task: { links: [{ rel: 'self', href: `${job}/task` }] },
    });
    expect((await caller.read(`${path}/task/`)).items).toEqual([
      { links: [{ rel: 'self', href: `${job}/task/1` }] },
    ]);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as unknown;
    expect(await caller.read(`${path}/task/1`)).toEqual({
      links: [
        { rel: 'related', href: `${job}/task/1/result` },
        { rel: 'self', href: `${job}/task/1` },
      ],
      completed: true,
      endTime: time,
      id: '1',
      progress: 'succeeded',
      startTime: time,
    });
    const id = getCreatedId(await caller.get(`${path}/task/1/result`));
    const read = await completed(await submit('GET', `record/v1/invoice/${id}`));
    const result = await caller.get(`${read}/task/1/result`);
    expect(result.body).toEqual(await caller.read(`record/v1/invoice/${id}`));
    expect(result.body).toMatchObject({ id, total: 10 });
  });

  it('that fails has failed as a job, with the error as its result', async () => {
    const path = await completed(await submit('POST', 'record/v1/invoice', { entity: { id: '99' } }));
    expect(await caller.read(path)).toMatchObject({ completed: true, progress: 'failed' });
    expect(toErrorDetail(await caller.get(`${path}/task/1/result`))).toEqual(
      toErrorDetail(await caller.send('POST', 'record/v1/invoice', { entity: { id: '99' } })),
    );
  });

  it('isn’t repeated with the same idempotency key', async () => {
    const key = { 'X-NetSuite-Idempotency-Key': 'cac827ea-3543-4cda-add2-bae634326c27' };
    const first = await submit('POST', 'record/v1/invoice', { ...INVOICE, externalId: 'once' }, key);
    const second = await submit('POST', 'record/v1/invoice', { ...INVOICE, externalId: 'twice' }, key);
    expect(second.body).toMatchObject({
      type: 'https://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html#sec10.4.10',
      title: 'Conflict',
      status: 400,
      'o:errorDetails': [{ 'o:errorCode': 'IDEMPOTENCY_ERROR' }],
    });
    expect(['location', 'preference-applied'].map((name) => second.headers.get(name))).toEqual([
      first.headers.get('location'),
      'respond-async',
    ]);
    await completed(first);
    expect(
      await caller.column("SELECT externalid FROM transaction WHERE externalid IN ('once', 'twice')"),
    ).toEqual(['once']);
  });

  it('is not seen by another integration, whose keys are its own', async () => {
    const headers = { authorization: `Bearer ${await signIn(caller.account)}` };
    const key = { 'X-NetSuite-Idempotency-Key': 'shared' };
    const mine = await submit('GET', 'record/v1/customer/1', undefined, key);
    const path = await completed(mine);
    for (const part of ['', '/task', '/task/1', '/task/1/result'])
      expect((await caller.get(`${path}${part}`, headers)).status).toBe(404);
    expect((await submit('GET', 'record/v1/customer/1', undefined, { ...key, ...headers })).status).toBe(202);
    expect((await caller.get(`${path}/task/2`)).status).toBe(404);
  });

  it('isn’t offered by the query service', async () => {
    const answer = await caller.query('SELECT id FROM customer', { headers: ASYNC });
    expect(toErrorDetail(answer)).toEqual([400, expect.stringContaining('transient'), 'INVALID_HEADER']);
    const response = await fetch(`${caller.account.url}/services/rest/async/v1/job/1`);
    expect((await readAnswer(response)).status).toBe(401);
  });
});

const COLLECTION = { 'content-type': 'application/vnd.oracle.resource+json; type=collection' };

it('a collection is a job with a task for each record', async () => {
  const items = ['one', 'two'].map((memo) => ({ ...INVOICE, memo }));
  const path = await completed(await submit('POST', 'record/v1/invoice', { items }, COLLECTION));
  const ids = [
    getCreatedId(await caller.get(`${path}/task/1/result`)),
    getCreatedId(await caller.get(`${path}/task/2/result`)),
  ];
  const changes = [
    { id: ids[0], memo: 'three' },
    { id: '99', memo: 'four' },
  ];
  const changed = await completed(await submit('PATCH', 'record/v1/invoice', { items: changes }, COLLECTION));
  expect((await caller.read(changed))['progress']).toBe('failed');
  expect(
    (await Promise.all([1, 2].map((task) => caller.get(`${changed}/task/${task}/result`)))).map(
      ({ status }) => status,
    ),
  ).toEqual([204, 400]);
  const read = await completed(
    await submit('GET', `record/v1/invoice?expandRecords=true&ids=${ids.join(',')}&fields=memo`),
  );
  const memos = await Promise.all(
    [1, 2].map(async (task) => (await caller.read(`${read}/task/${task}/result`))['memo']),
  );
  expect(memos).toEqual(['three', 'two']);
  expect(await caller.read(`${read}/task/1/result`)).not.toHaveProperty('total');
  await completed(await submit('DELETE', `record/v1/invoice?ids=${ids.join(',')}`));
  await caller.expectNone(`SELECT id FROM transaction WHERE id IN (${ids.join(', ')})`);
  expect(toErrorDetail(await submit('POST', 'record/v1/invoice', {}, COLLECTION))).toEqual([
    400,
    'Invalid content in the request body.',
    'INVALID_CONTENT',
  ]);
});

// The last test: the job waits until the account is stopped.
it('a job is pending while it waits in its queue', async () => {
  caller.account.setSwitches({ asyncDelayMs: 600_000 });
  const path = toPath((await submit('DELETE', 'record/v1/invoice/101')).headers.get('location'));
  expect(await caller.read(path)).toMatchObject({ completed: false, progress: 'pending' });
  const task = await caller.read(`${path}/task/1`);
  expect([task['completed'], task['progress'], task.links.map(({ rel }) => rel)]).toEqual([
    false,
    'pending',
    ['self'],
  ]);
  expect((await caller.get(`${path}/task/1/result`)).status).toBe(404);
  expect((await caller.get('record/v1/invoice/101')).status).toBe(200);
});
