// Applies the control interface's faults to answers. A request meets every fault that concerns it, in the
// order in which they were put: a status or an HTML page ends the request there, everything else changes the
// answer that the account would give.
import type { Request, RequestHandler, Response } from 'express';
import { tooManyRequests } from '../governance.ts';
import { findEnabledType } from '../records/record-types.ts';
import { invalidLogin } from '../sign-in/invalid-login.ts';
import type { Switches } from '../switches.ts';
import { equalsSql, parseColumnValue } from '../tables/column-value.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { type AccountTable, getIdColumn, quoteSqlName } from '../tables/table.ts';
import { RestError, sendJsonBody, unexpectedError } from '../wire.ts';
import { type AnswerFault, type ColumnValues, findEffect, isMetBy } from './answer-fault.ts';
import {
  isPage,
  type Page,
  withDuplicate,
  withOffsetTotal,
  withoutEveryNth,
  withoutMore,
  withoutProperties,
} from './change-page.ts';
import { ALL_ROWS, type Distortion, type QueryDistortion, setDistortion } from './distortion.ts';
import { loadSubject, type RequestSubject } from './subject.ts';
import { noteEffect } from './traffic.ts';

export type AnswerFaults = {
  /** Throws RestError where a fault has a status. */
  handler: RequestHandler;
  put(faults: readonly AnswerFault[]): void;
  /** With how many answers each of them met. */
  list(): { fault: AnswerFault; hits: number }[];
};
type Parts = {
  accountId: string;
  role: RoleVisibility;
  switches: Switches;
  /** The exported snapshot that stale answers are read from. */
  staleSnapshot: () => string | undefined;
};
type Entry = { fault: AnswerFault; hits: number; rowsSeen: number };
type Remembered = { request: string; body: unknown };
type Exchange = {
  parts: Parts;
  request: Request;
  response: Response;
  subject: RequestSubject;
  remembered: Map<string, Remembered>;
};

const DEFAULT_PAGE_SIZE = 1000;
const MAX_REMEMBERED = 20;

/** The handler throws RestError where a fault has a status; see AnswerFaults. */
export function createAnswerFaults(parts: Parts): AnswerFaults {
  let entries: Entry[] = [];
  const remembered = new Map<string, Remembered>(); // the last page of each list, while a fault repeats pages
  return {
    async handler(request, response, next) {
      const subject = loadSubject(parts.role, request, response);
      const met = entries.filter((entry) => isLeft(entry) && isMetBy(entry.fault, subject));
      for (const entry of met) {
        const { delayMs, status, html } = entry.fault;
        if (delayMs === undefined && status === undefined && html === undefined) continue;
        if (!use(entry, response)) continue;
        if (delayMs !== undefined) await wait(delayMs, response);
        else if (status !== undefined) return sendStatus(parts, status, subject, response);
        else return sendHtml(response);
      }
      if (met.length > 0) distort({ parts, request, response, subject, remembered }, met);
      next();
    },
    put(faults) {
      entries = faults.map((fault) => ({ fault, hits: 0, rowsSeen: 0 }));
      remembered.clear();
    },
    list: () => entries.map(({ fault, hits }) => ({ fault, hits })),
  };
}

const isLeft = ({ fault, hits }: Entry): boolean => hits < (fault.times ?? Number.POSITIVE_INFINITY);

/** Counts the answer; false when the fault has met as many as it should meanwhile. */
function use(entry: Entry, response: Response): boolean {
  if (!isLeft(entry)) return false;
  entry.hits += 1;
  noteEffect(response, findEffect(entry.fault) ?? '');
  return true;
}

/** Ends early when the caller leaves. */
function wait(delayMs: number, response: Response): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function sendStatus(
  { accountId, switches }: Parts,
  status: number,
  { kind }: RequestSubject,
  response: Response,
): Promise<void> {
  const reason = 'fault of the control interface';
  if (kind === 'token' && status === 401) {
    response.set('www-authenticate', `Basic realm="${accountId}"`);
    return sendJsonBody(response, 401, 'application/json; charset=UTF-8', { error: 'invalid_client' });
  }
  switch (status) {
    case 429:
      throw tooManyRequests(switches.retryAfterSeconds);
    case 401: {
      const challenge = `Bearer realm="${accountId}", error="invalid_token", error_description="Invalid login attempt."`;
      throw invalidLogin(reason, { 'www-authenticate': challenge });
    }
    case 403: {
      const detail =
        'Permission Violation: The current role does not have permission to perform this action.';
      throw new RestError(403, { detail, 'o:errorCode': 'INSUFFICIENT_PERMISSION' }, { reason });
    }
    case 503:
      throw new RestError(
        503,
        { detail: 'The service is temporarily unavailable.', 'o:errorCode': 'SERVICE_UNAVAILABLE' },
        { reason },
      );
    default:
      throw unexpectedError(new Error(reason));
  }
}

const HTML =
  '<!DOCTYPE html>\n<html><head><title>NetSuite</title></head><body><h1>This page is being maintained</h1></body></html>\n';

/** What a proxy or a maintenance page sends instead of the account. */
function sendHtml(response: Response): void {
  response
    .status(200)
    .set({ 'content-type': 'text/html; charset=UTF-8', 'content-length': String(Buffer.byteLength(HTML)) });
  response.end(HTML);
}

function distort(exchange: Exchange, met: readonly Entry[]): void {
  const { response, parts, subject } = exchange;
  const query = distortQuery(exchange, met);
  const stale = met.find(({ fault }) => fault.stalePage);
  const snapshot = stale && parts.staleSnapshot();
  const cut = met.find(({ fault }) => fault.cut !== undefined);
  const distortion: Distortion = {
    ...(query && { query }),
    ...(stale && snapshot !== undefined && use(stale, response) && { snapshot }),
    ...(cut && use(cut, response) && { cutAfterBytes: cut.fault.cut ?? 0 }),
    ...(subject.kind !== 'count' && { changeBody: (body: unknown) => changeBody(exchange, met, body) }),
  };
  setDistortion(response, distortion);
}

/**
 * What the faults change in the SQL of a query: columns need not be selected to be compared, and their
 * aliases don't matter.
 */
function distortQuery(
  { parts, response, subject }: Exchange,
  met: readonly Entry[],
): QueryDistortion | undefined {
  const table = subject.table === undefined ? undefined : parts.role.known(subject.table);
  if (!subject.query || !table) return undefined;
  const conditions: string[] = [];
  const nullColumns = new Map<string, (alias: string) => string>();
  let countOffset = 0;
  for (const entry of met) {
    const { dropRows, nullColumn, countOffset: offset } = entry.fault;
    const isCount = subject.kind === 'count';
    if (dropRows?.where) {
      const condition = buildCondition(table, dropRows.where);
      if (condition && use(entry, response)) conditions.push(`NOT (${condition()})`);
    }
    const emptied = nullColumn === undefined ? undefined : findEmptied(table, nullColumn);
    if (emptied && subject.query.mentions(emptied.column) && use(entry, response))
      nullColumns.set(emptied.column, emptied.condition);
    if (offset !== undefined && isCount && use(entry, response)) countOffset += offset;
  }
  return { table: table.name, conditions, nullColumns, countOffset };
}

/**
 * The SQL condition of the rows with all these values; undefined for an unknown column or a value of another
 * kind.
 */
function buildCondition(table: AccountTable, values: ColumnValues): ((alias?: string) => string) | undefined {
  const parsed = Object.entries(values).map(([name, given]) => {
    const column = table.columns.find((known) => known.name === name);
    const value = column && parseColumnValue(column.kind, given);
    return column && value !== undefined ? { column, value } : undefined;
  });
  if (parsed.includes(undefined)) return undefined;
  return (alias) =>
    parsed.flatMap((each) => (each ? equalsSql(each.column, each.value, alias) : [])).join(' AND ');
}

type Emptied = { column: string; condition: (alias: string) => string };

/**
 * Undefined for an unknown column, also in its condition, and for every Nth row of a table without internal
 * ids.
 */
function findEmptied(
  table: AccountTable,
  given: NonNullable<AnswerFault['nullColumn']>,
): Emptied | undefined {
  const { column, where, every } = typeof given === 'string' ? { column: given } : given;
  const has = (wanted: string): boolean => table.columns.some(({ name }) => name === wanted);
  if (!has(column)) return undefined;
  if (every !== undefined) {
    if (!has(getIdColumn(table.name))) return undefined;
    return {
      column,
      condition: (alias) => `${quoteSqlName(alias)}.${quoteSqlName(getIdColumn(table.name))} % ${every} = 0`,
    };
  }
  const condition = buildCondition(table, where ?? {});
  return condition && { column, condition: where === undefined ? () => ALL_ROWS : condition };
}

function changeBody(exchange: Exchange, met: readonly Entry[], given: unknown): unknown {
  const { subject, response, request, parts, remembered } = exchange;
  const body = met.reduce((changed, entry) => {
    const { nullColumn } = entry.fault;
    const names =
      subject.kind === 'record' && typeof nullColumn === 'string'
        ? listProperties(parts.role, subject, nullColumn)
        : [];
    return names.length > 0 && use(entry, response) ? withoutProperties(changed, names) : changed;
  }, given);
  if (!isPage(body)) return body;
  const repeats = met.filter(({ fault }) => fault.repeatPage);
  const asked = `${request.originalUrl} ${String(request.body)}`;
  const previous = remembered.get(subject.list);
  if (previous && previous.request !== asked && repeats.some((entry) => use(entry, response)))
    return previous.body;
  const page = met.reduce((changed, entry) => changePage(exchange, entry, changed), body);
  if (repeats.length > 0) remember(remembered, subject.list, { request: asked, body: page });
  return page;
}

function changePage({ request, response, subject }: Exchange, entry: Entry, page: Page): Page {
  const { hasMore, countOffset, dropRows, duplicateRow } = entry.fault;
  if (hasMore === false && page.hasMore && use(entry, response)) return withoutMore(page);
  if (countOffset !== undefined && subject.kind !== 'count' && use(entry, response))
    return withOffsetTotal(page, countOffset);
  if (duplicateRow && page.items.length > 0 && use(entry, response)) {
    return withDuplicate(page, Number(request.query['limit'] ?? DEFAULT_PAGE_SIZE));
  }
  if (dropRows?.every === undefined) return page;
  const { rowsSeen } = entry;
  const isDropping =
    Math.floor((rowsSeen + page.items.length) / dropRows.every) > Math.floor(rowsSeen / dropRows.every);
  if (isDropping && !use(entry, response)) return page;
  entry.rowsSeen += page.items.length;
  return isDropping ? withoutEveryNth(page, dropRows.every, rowsSeen) : page;
}

/** The names of the properties that show this column in a record, or in its lines. */
function listProperties(role: RoleVisibility, { table, type }: RequestSubject, column: string): string[] {
  const known = findEnabledType(role, type ?? '');
  const properties = (table === 'transactionline' ? known?.lines?.properties : known?.properties) ?? [];
  return properties.filter((property) => property.column === column).map(({ name }) => name);
}

function remember(remembered: Map<string, Remembered>, list: string, page: Remembered): void {
  remembered.delete(list);
  remembered.set(list, page);
  const [oldest] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
}
