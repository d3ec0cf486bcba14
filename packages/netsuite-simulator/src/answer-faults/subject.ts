// What a request asks for: the kind of answer and the table it reads.
import type { Request, Response } from 'express';
import { findEnabledType } from '../records/record-types.ts';
import { TOKEN_PATH } from '../sign-in/token-endpoint.ts';
import { classifyQuery, type QuerySubject } from '../suiteql/classify.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import type { AnswerSubject } from './answer-fault.ts';

/** `list` is the same for all pages of one list. `type` is a record type's name in the path. */
export type RequestSubject = AnswerSubject & { list: string; query?: QuerySubject; type?: string };

const RECORDS = '/services/rest/record/v1/';
const SUITEQL = '/services/rest/query/v1/suiteql';
const KEY = 'subject';

/** The subject of this request. The body of a query must have been read. */
export function loadSubject(role: RoleVisibility, request: Request, response: Response): RequestSubject {
  const known = response.locals[KEY] as RequestSubject | undefined;
  const subject = known ?? readSubject(role, request);
  response.locals[KEY] = subject;
  return subject;
}

function readSubject(role: RoleVisibility, { originalUrl, query, body }: Request): RequestSubject {
  const [path = ''] = originalUrl.split('?', 1);
  if (path === TOKEN_PATH) return { kind: 'token', table: undefined, list: '' };
  if (path === SUITEQL) {
    const read = classifyQuery(queryText(body));
    return { kind: read.kind, table: read.table, list: read.list, query: read };
  }
  if (!path.startsWith(RECORDS)) return { kind: 'other', table: undefined, list: '' };
  const [first = '', second = '', third = ''] = path.slice(RECORDS.length).split('/');
  const isCatalog = first === 'metadata-catalog';
  const type = isCatalog ? second : first;
  const table = third.toLowerCase() === 'item' ? 'transactionline' : findEnabledType(role, type)?.table;
  return {
    kind: isCatalog ? 'metadata' : 'record',
    table,
    list: `${path} ${String(query['q'] ?? '')}`,
    type,
  };
}

function queryText(body: unknown): string {
  try {
    const parsed: unknown = JSON.parse(typeof body === 'string' ? body : '');
    return typeof parsed === 'object' && parsed !== null && 'q' in parsed && typeof parsed.q === 'string'
      ? parsed.q
      : '';
  } catch {
    return ''; // the request is refused later
  }
}
