// What every operation rejects before it does anything: missing credentials, unknown names, malformed bodies,
// other methods, invalid ids.
import { createId } from '../../../src/core/id.ts';
import type { Route } from '../../../src/http/route/route.ts';
import { toWireSchema } from '../arbitrary.ts';
import type { Sent } from '../builder.ts';
import type { Answer } from '../http.ts';
import { authorizedCaller, type Raw, unauthenticated, type Walk } from '../walk.ts';
import { answerProblems } from './responses.ts';

export async function withoutCredential(walk: Walk, route: Route): Promise<string[]> {
  const params = Object.fromEntries(Object.keys(route.params?.shape ?? {}).map((name) => [name, createId()]));
  const answer = await walk.send(route, { params }, unauthenticated);
  // The first twenty failures of a minute are 401; rate-limit.test.ts covers what comes after.
  await walk.ctx.db.control.raw('delete from rate_limits');
  const problems = answerProblems(walk, route, answer);
  if (answer.status !== 401 || answer.body?.error?.code !== 'UNAUTHORIZED')
    problems.push(`answers an unauthenticated request with ${answer.status} ${answer.text}`);
  if (answer.headers['www-authenticate'] !== 'Bearer') problems.push('does not say how to authenticate');
  return problems;
}

type Refusal = {
  what: string;
  sent: Sent;
  raw?: Partial<Raw>;
  status: number;
  code: string;
  detail?: string;
};

async function refusals(
  walk: Walk,
  route: Route,
  list: (sent: Sent) => readonly Refusal[],
): Promise<string[]> {
  const { site, sent: built } = await walk.getBuilder(route).toRefuse();
  const problems: string[] = [];
  for (const { what, sent, raw, status, code, detail } of list(built)) {
    const answer = await walk.send(route, sent, authorizedCaller(route, site), raw);
    const { error } = (answer.body ?? {}) as { error?: { code: string; details?: { code: string }[] } };
    const fits =
      answer.status === status &&
      error?.code === code &&
      (detail === undefined || error.details?.some((one) => one.code === detail));
    if (fits !== true)
      problems.push(
        `${what} is answered ${answer.status} ${answer.text}, not ${status} ${code} ${detail ?? ''}`,
      );
    // Errors for deliberately wrong bodies needn't be documented for operations that take no body.
    if (![413, 415].includes(status)) problems.push(...answerProblems(walk, route, answer));
  }
  return problems;
}

export const unknownNames = (walk: Walk, route: Route): Promise<string[]> =>
  refusals(walk, route, (sent) => [
    {
      what: 'an unknown query parameter',
      sent: { ...sent, query: { ...sent.query, unheard_of: '1' } },
      status: 400,
      code: 'BAD_REQUEST',
      detail: 'unknown_field',
    },
    ...(route.method === 'GET'
      ? []
      : [
          {
            what: 'an unknown field',
            sent: { ...sent, body: { ...sent.body, unheard_of: 1 } },
            status: 422,
            code: 'VALIDATION_ERROR',
            detail: 'unknown_field',
          },
        ]),
  ]);

export const unreadableBodies = (walk: Walk, route: Route): Promise<string[]> => {
  if (route.method === 'GET') return Promise.resolve([]);
  const refused =
    (what: string, raw: Partial<Raw>, status: number, detail?: string) =>
    (sent: Sent): Refusal => ({
      what,
      sent,
      raw,
      status,
      code: 'BAD_REQUEST',
      ...(detail !== undefined && { detail }),
    });
  const wrong = [
    refused('malformed JSON', { body: '{"name":' }, 400, 'malformed_json'),
    refused('a body that is no object', { body: '"text"' }, 400, 'malformed_json'),
    refused(
      'another content type',
      { body: 'name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ),
    refused(
      'more than a megabyte',
      { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }) },
      413,
      'too_large',
    ),
  ];
  return refusals(walk, route, (sent) => wrong.map((make) => make(sent)));
};

export const pagesOutOfBounds = (walk: Walk, route: Route): Promise<string[]> =>
  refusals(walk, route, (sent) =>
    [
      'pageSize=0',
      'pageSize=101',
      'pageSize=abc',
      'pageSize=-1',
      'pageSize=1.5',
      'pageSize=',
      'page=0',
      'page=9999999999',
      'page=1&page=2',
    ].map((search) => ({
      what: search,
      sent,
      raw: { search },
      status: 400,
      code: 'BAD_REQUEST',
    })),
  );

/** A page has 25 items by default and up to 100, and is empty beyond the end. */
export async function pages(walk: Walk, route: Route): Promise<string[]> {
  const { site, sent } = await walk.getBuilder(route).toRefuse();
  const ask = (query: Record<string, string>) =>
    walk.send(route, { ...sent, query: { ...sent.query, ...query } }, authorizedCaller(route, site));
  const [first, most, beyond] = [
    await ask({}),
    await ask({ pageSize: '100' }),
    await ask({ page: '999999999', pageSize: '100' }),
  ];
  const problems = [first, most, beyond].flatMap((answer) => answerProblems(walk, route, answer));
  const shown = [first, most, beyond]
    .map(({ body }) => `${body?.pagination?.page}/${body?.pagination?.pageSize}`)
    .join(' ');
  if (shown !== '1/25 1/100 999999999/100') problems.push(`its pages are ${shown}`);
  if (beyond.body?.data?.length !== 0 || beyond.body?.pagination?.total !== first.body?.pagination?.total)
    problems.push(`beyond its end it answers ${beyond.text}`);
  return problems;
}

const malformedIds = [
  '1',
  'x'.repeat(300),
  '\0',
  'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
  '../..',
  "' or 1=1 --",
];

export const malformedParameters = (walk: Walk, route: Route): Promise<string[]> =>
  refusals(walk, route, (sent) =>
    idNames(route).flatMap((name) =>
      malformedIds.map((id) => ({
        what: `${name}=${id.slice(0, 40)}`,
        sent: { ...sent, params: { ...sent.params, [name]: id } },
        status: 400,
        code: 'BAD_REQUEST',
      })),
    ),
  );

const isId = (schema: unknown): boolean => (schema as { format?: string } | undefined)?.format === 'uuid';
/** Path parameters that are ids. */
export function idNames(route: Route): string[] {
  const properties =
    route.params === undefined ? {} : (toWireSchema(route.params)['properties'] as Record<string, unknown>);
  return Object.entries(properties).flatMap(([name, schema]) => (isId(schema) ? [name] : []));
}
/** Fields of the query or the top level of the body that are an id or a list of ids. */
export function idFields(route: Route, part: 'query' | 'body'): string[] {
  const schema = route[part];
  const properties =
    schema === undefined
      ? {}
      : ((toWireSchema(schema)['properties'] ?? {}) as Record<string, { items?: unknown }>);
  return Object.entries(properties).flatMap(([name, held]) => {
    const choices = ((held as { anyOf?: { items?: unknown }[] }).anyOf ?? [held]) as { items?: unknown }[];
    return choices.some((choice) => isId(choice) || isId(choice.items)) ? [name] : [];
  });
}

const comparable = (answer: Answer): string => {
  const { requestId: _, ...error } = answer.body?.error ?? {};
  const found: unknown = answer.status < 300 ? answer.body : undefined;
  return JSON.stringify([answer.status, error, found, Object.keys(answer.headers).sort()]);
};

/**
 * Another organization's id in the path, the query or the body gets exactly the same response as one that
 * doesn't exist.
 */
export async function foreignIds(walk: Walk, route: Route): Promise<string[]> {
  const { builder, site: openSite, foreign: openForeign } = walk.getBuilder(route);
  const places = [
    ...idNames(route).map((name) => ['params', name] as const),
    ...idFields(route, 'query').map((name) => ['query', name] as const),
    ...idFields(route, 'body').map((name) => ['body', name] as const),
  ];
  const site = await openSite();
  const [own, theirs] = [await builder.build(site), await builder.build(await openForeign())];
  const problems: string[] = [];
  for (const [part, name] of places) {
    const foreign: unknown = theirs[part]?.[name];
    if (foreign === undefined || JSON.stringify(foreign) === JSON.stringify(own[part]?.[name])) {
      problems.push(`its builder must fill ${part}.${name} with an id of the fixture's own organization`);
      continue;
    }
    const ask = (id: unknown) =>
      walk.send(
        route,
        { ...own, [part]: { ...own[part], [name]: id } } as Sent,
        authorizedCaller(route, site),
      );
    const [answered, unknown] = [
      await ask(foreign),
      await ask(Array.isArray(foreign) ? [createId()] : createId()),
    ];
    // A filter by an unknown id finds nothing.
    const allowed = { params: [404], query: [200, 404, 422], body: [404, 422] }[part];
    if (!allowed.includes(unknown.status))
      problems.push(`an unknown ${name} is answered ${unknown.status} ${unknown.text}`);
    if (comparable(answered) !== comparable(unknown))
      problems.push(
        `another organization's ${name} is answered ${comparable(answered)}, an unknown one ${comparable(unknown)}`,
      );
    if ([foreign].flat().some((id) => answered.text.includes(String(id))))
      problems.push(`the answer repeats the ${name}`);
    problems.push(...answerProblems(walk, route, answered));
  }
  return problems;
}

/** 405 with `Allow` for every method that its path doesn't have. */
export async function otherMethods(walk: Walk, route: Route, all: readonly Route[]): Promise<string[]> {
  const { site, sent } = await walk.getBuilder(route).toRefuse();
  const known = all.filter(({ path }) => pathForm(path) === pathForm(route.path)).map(({ method }) => method);
  const problems: string[] = [];
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const sameAddress = all.some(
      (other) =>
        other.method === method &&
        new RegExp(`^${other.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(route.path),
    );
    if (known.includes(method) || sameAddress) continue;
    const { query: _, body: __, ...bare } = sent;
    const answer = await walk.send(route, bare, authorizedCaller(route, site), { method });
    const allow = answer.headers.allow?.split(', ') ?? [];
    if (
      answer.status !== 405 ||
      answer.body?.error?.code !== 'BAD_REQUEST' ||
      !known.every((one) => allow.includes(one))
    )
      problems.push(`${method} is answered ${answer.status} ${answer.text} with Allow: ${allow.join(', ')}`);
  }
  return problems;
}

/** A path whose parameters have no names: operations of one path may name them differently. */
export const pathForm = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');
