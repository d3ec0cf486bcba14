// Exposes the management interface through three tools, however many operations it has. A call runs the
// operation's own `invoke`, so authorization, validation, audit and idempotency are those of the REST
// interface. Operations that can stream return JSON here.
import { z } from 'zod';
import type { CallerCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { takeWholeItems, truncatedList } from '../core/text/truncate-list.ts';
import { invokeOnce } from '../http/idempotency.ts';
import { authorize } from '../http/route/authorize.ts';
import type { Route } from '../http/route/route.ts';
import { describeOperation } from './describe-operation.ts';
import { createOperationSearch } from './search-operations.ts';
import { defineTool, maxCharacters, type Tool } from './tool.ts';

const OperationId = z.string().max(100).describe('Operation id, from search_operations');
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const maxFound = 50;

function mayCall(route: Route, ctx: CallerCtx): boolean {
  try {
    // With the path's values by which it would be allowed, if any are.
    authorize(route, ctx, { id: ctx.caller.credential.id, ...route.orPermission?.for });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

const unknownOperation = (): AppError =>
  new AppError('NOT_FOUND', 'There is no operation with this id', {
    details: [{ path: 'id', code: 'unknown_operation', message: 'Find an id with search_operations' }],
  });

/** Path and query values are strings in a URL. */
const asStrings = (
  given: Readonly<Record<string, z.output<typeof scalar> | readonly z.output<typeof scalar>[]>> | undefined,
) =>
  Object.fromEntries(
    Object.entries(given ?? {}).map(
      ([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)] as const,
    ),
  );

/** JSON text of bounded length: a list is cut after whole items, all else to the beginning of its text. */
export function responseText(status: number, body: unknown, replayed: boolean): string {
  const head = JSON.stringify({ status, ...(replayed && { replayed }) }).slice(0, -1);
  const text = JSON.stringify(body ?? null);
  if (text.length <= maxCharacters) return `${head},"body":${text}}`;
  const { data, ...rest } = (Array.isArray(body) ? { data: body } : body) as Readonly<
    Record<string, unknown>
  >;
  const items = Array.isArray(data) ? data : [];
  const joined = items.map((item) => JSON.stringify(item)).join();
  if (takeWholeItems(joined, maxCharacters / 2).count > 0) {
    const advice = 'use a smaller `pageSize`';
    const list = {
      name: 'data',
      items: joined,
      of: items.length,
      rest,
      maxChars: maxCharacters,
      advice,
      path: 'query',
    };
    return `${head},"body":${truncatedList(list)}}`;
  }
  const cut = {
    characters: text.length,
    message: 'The response is too long: only its beginning is shown, as text',
  };
  return `${head},"cut":${JSON.stringify(cut)},"bodyStart":${JSON.stringify(text.slice(0, maxCharacters / 2).toWellFormed())}}`;
}

type Find = (id: string) => Route;

const searchTool = (routes: readonly Route[]): Tool => {
  const search = createOperationSearch(routes);
  return defineTool({
    name: 'search_operations',
    title: 'Search operations',
    description:
      'Finds operations of the management interface (members, teams, domains, ERP connection, syncs, API keys, API versions, views and more) by keywords. `allowed` says whether you may call the operation.',
    input: z.strictObject({
      words: z.string().min(1).max(200).describe('Keywords, such as: list sync runs'),
      limit: z.int().min(1).max(maxFound).optional().describe('Maximum number of results; 10 by default'),
    }),
    writes: false,
    run: async (ctx, { words, limit = 10 }) => {
      const found = search(words);
      const operations = found.slice(0, limit).map((route) => {
        const { id, method, path, summary, permission } = route;
        return { id, method, path, summary, permission, allowed: mayCall(route, ctx) };
      });
      const groups = found.length > 0 ? undefined : [...new Set(routes.map(({ group }) => group))];
      return JSON.stringify({ operations, found: found.length, groups });
    },
  });
};

const describeTool = (find: Find, describeAll: () => Readonly<Record<string, unknown>>): Tool =>
  defineTool({
    name: 'describe_operation',
    title: 'Describe an operation',
    description:
      'Parameters, request body, response and examples of one operation. Read this before calling it.',
    input: z.strictObject({ id: OperationId }),
    writes: false,
    run: async (ctx, { id }) => {
      const route = find(id);
      return JSON.stringify({ ...describeOperation(route, describeAll()), allowed: mayCall(route, ctx) });
    },
  });

const callTool = (find: Find): Tool =>
  defineTool({
    name: 'call_operation',
    title: 'Call an operation',
    description:
      'Calls one operation with your permissions and returns {status, body}. It may change or delete data: ask the person first unless they requested it. Secrets that are shown only once are shown here.',
    input: z.strictObject({
      id: OperationId,
      path: z.record(z.string().max(100), scalar).optional().describe('Path parameters by name'),
      query: z.record(z.string().max(100), z.union([scalar, z.array(scalar).max(100)])).optional(),
      body: z.unknown().optional().describe('JSON body').meta({ type: 'object' }),
      idempotencyKey: z
        .string()
        .max(255)
        .optional()
        .describe('For POST: repeating a call with the same key returns the stored response'),
    }),
    writes: true,
    run: async (ctx, { id, path, query, body, idempotencyKey }) => {
      const raw = { params: asStrings(path), query: asStrings(query), body };
      const { response, replayed } = await invokeOnce(find(id), ctx, raw, idempotencyKey);
      return responseText(response.status, response.body, replayed);
    },
  });

/** `describeAll`: the OpenAPI document of the routes. The tools throw 404 for an unknown operation id. */
export function operationTools(
  routes: readonly Route[],
  describeAll: () => Readonly<Record<string, unknown>>,
): readonly Tool[] {
  const find: Find = (id) => {
    const found = routes.find((route) => route.id === id);
    if (found === undefined) throw unknownOperation();
    return found;
  };
  return [searchTool(routes), describeTool(find, describeAll), callTool(find)];
}
