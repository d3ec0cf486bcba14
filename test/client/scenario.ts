// What a customer's program would do with types made from the description alone: it must compile against
// them, and work.
import createClient from 'openapi-fetch';
import type { components, paths } from './.generated/platform.ts';

type Failure = components['schemas']['ErrorResponse'];
const [, , baseUrl = '', key = ''] = process.argv;

const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

function given<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined)
    throw new Error(
      `${answer.response.url} was answered ${answer.response.status} ${JSON.stringify(answer.error)}`,
    );
  return answer.data;
}

const who = given(await client.GET('/whoami'));
const invoices = { name: 'invoices', recordType: 'invoice', fields: [{ name: 'number', source: 'tranid' }] };
const draft = given(
  await client.POST('/api-schema', { body: { name: 'Invoices for customers', endpoints: [invoices] } }),
);
const made = given(
  await client.POST('/api-keys', {
    body: {
      name: 'Nightly report',
      scopes: { versions: [draft.version], resources: ['invoices'], permissions: ['read'] },
      expiresAt: null,
    },
    params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
  }),
);
const listed = given(
  await client.GET('/api-keys', {
    params: { query: { status: 'active', q: 'nightly', page: 1, pageSize: 10 } },
  }),
);
const renamed = given(
  await client.PATCH('/api-keys/{id}', {
    params: { path: { id: made.id } },
    body: { name: 'Weekly report' },
  }),
);
const rotated = given(
  await client.POST('/api-keys/{id}/rotate', {
    params: { path: { id: made.id } },
    body: { gracePeriodSeconds: 60 },
  }),
);

// Errors have a type of their own: the code is one of seven words, the details name fields.
const refused = await client.POST('/api-keys', { body: { name: '' } });
const failure: Failure | undefined = refused.error;
const code: 'VALIDATION_ERROR' | undefined =
  failure?.error.code === 'VALIDATION_ERROR' ? failure.error.code : undefined;
const fields: string[] = failure?.error.details?.map(({ path }) => path) ?? [];

// What the description does not know must not compile.
// @ts-expect-error: no such filter
await client.GET('/api-keys', { params: { query: { colour: 'red' } } });
// @ts-expect-error: no such state
await client.GET('/api-keys', { params: { query: { status: 'lost' } } });
// @ts-expect-error: the name is missing
await client.POST('/api-keys', { body: {} });
// @ts-expect-error: a key has no such field
const unknownField: unknown = renamed.colour;

const deleted = await client.DELETE('/api-keys/{id}', { params: { path: { id: made.id } } });
const gone = given(await client.GET('/api-keys/{id}', { params: { path: { id: made.id } } }));

console.log(
  JSON.stringify({
    organization: who.organization?.slug,
    permissions: who.permissions.length,
    secret: made.secret?.slice(0, 4),
    listed: listed.data.map(({ id, name }) => ({ id: id === made.id, name })),
    total: listed.pagination.total,
    renamed: renamed.name,
    rotated: rotated.secret !== made.secret,
    refused: { status: refused.response.status, code, fields },
    unknownField: unknownField === undefined,
    deleted: deleted.response.status,
    status: gone.status,
  }),
);
