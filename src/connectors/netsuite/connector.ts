// Implements the Connector contract for a NetSuite account. It only assembles the parts, which decide.
import { isTime } from '../../core/text/calendar.ts';
import {
  type ChangeCounts,
  type Connector,
  type ConnectorCtx,
  type ConnectorKind,
  ErpError,
} from '../connector.ts';
import type { ListedRecord } from '../source-records.ts';
import { readAccountFacts } from './account-facts.ts';
import { accountRealm, type NetsuiteSecrets, type NetsuiteSettings, serviceOrigin } from './connection.ts';
import { testNetsuiteConnection } from './connection-test.ts';
import { describeQuery } from './customer-query/query-source.ts';
import { countListed } from './discovery/count-listed.ts';
import { discoverRecordTypes } from './discovery/discover.ts';
import { createTypeChecks } from './discovery/listed-types.ts';
import { describeRecordTypes } from './discovery/metadata.ts';
import { createPaymentWriter } from './payments.ts';
import { readDeletions } from './read/deletions.ts';
import { estimateRead } from './read/estimate.ts';
import { createLineReader, hasTime } from './read/line-reader.ts';
import { createRecordReader } from './read/records.ts';
import { assertIdOrder } from './read/rows.ts';
import { type Authorizer, createOauth2Authorizer } from './requests/auth.ts';
import { monitorClockSkew } from './requests/clock-skew.ts';
import { erpError, inconsistentResponse, rethrowHiddenLines } from './requests/errors.ts';
import { createNetsuiteHttp, type NetsuiteHttp } from './requests/http.ts';
import { createSuiteql, maxRowsPerQuery, type Suiteql } from './requests/suiteql.ts';
import { createTbaAuthorizer } from './requests/tba.ts';
import {
  changeCountQuery,
  changedLinesKey,
  changedRecordsKey,
  countQuery,
  recordsQuery,
  todayQuery,
  valueKey,
} from './types/queries.ts';
import { distinctIds, getDefinition, pageLimit, planRead, requireModifiedField } from './types/read-plan.ts';
import { addIds, keyIsEmpty, modifiedIsEmpty } from './types/record-keys.ts';
import { compareIds, isIdText, parseValue } from './types/values.ts';

/** Settings and secrets are those of connection.ts; kinds.ts parses what is stored before `create`. */
export const netsuite: ConnectorKind<NetsuiteSettings, NetsuiteSecrets> = { create: createNetsuiteConnector };

function createNetsuiteConnector(
  outer: ConnectorCtx,
  settings: NetsuiteSettings,
  secrets: NetsuiteSecrets,
): Connector {
  const clockSkew = monitorClockSkew(outer.fetch, outer.clock);
  const ctx = { ...outer, fetch: clockSkew.fetch };
  const origin = serviceOrigin(settings);
  const account = accountRealm(settings.accountId);
  const authorizer = createAuthorizer(ctx, origin, settings, secrets);
  const limiter = ctx.erpLimits.of(`${origin} ${account}`, ctx.settings.erp.concurrency);
  const http = createNetsuiteHttp({ ctx, origin, authorizer, limiter });
  const suiteql = createSuiteql(http);
  return {
    test: (signal) =>
      testNetsuiteConnection(
        { clock: ctx.clock, clockSkew, suiteql, account, now: () => readServerTime(http, signal) },
        signal,
      ),
    now: (signal) => readServerTime(http, signal),
    today: (signal) => readToday(suiteql, signal),
    account: (signal) => readAccountFacts(suiteql, () => readServerTime(http, signal), signal),
    metadata: (signal, only, last) => describeRecordTypes({ http, suiteql, signal }, only, last),
    discover: (signal) => discoverRecordTypes({ http, suiteql, signal }),
    countListed: (heads, signal) => countListed(suiteql, heads, signal),
    describeQuery: (source, signal, last = null) => describeQuery(suiteql, source, signal, last),
    count: (recordType, signal, range) => countRecords(suiteql, recordType, signal, range),
    estimateRead: (request) => estimateRead(suiteql, request),
    countChanged: (request) => countChanged(suiteql, request),
    ...createReads(suiteql, ctx.settings.erp.maxPageCharacters),
    deletedSince: ({ recordType, since, signal }) =>
      readDeletions(suiteql, getDefinition(recordType), since, signal),
    filterMoved: (request) => filterMoved(suiteql, request),
    listIds: (request) => listIds(suiteql, request),
    types: createTypeChecks(suiteql),
    lines: createLineReader(suiteql),
    payments: createPaymentWriter(http, suiteql),
  };
}

function createReads(
  suiteql: Suiteql,
  maxPageCharacters: number,
): Pick<Connector, 'readPage' | 'readByIds' | 'scan'> {
  const { readRecords, scanRecords } = createRecordReader(suiteql, maxPageCharacters);
  return {
    async readPage({ recordType, fields, afterId, changedSince, limit, signal }) {
      const plan = planRead(recordType, fields);
      if (changedSince !== null) requireModifiedField(recordType);
      return readRecords(plan, { afterId, changedSince }, pageLimit(limit), signal);
    },
    async readByIds({ recordType, fields, ids, signal }) {
      const wanted = distinctIds(ids);
      const plan = planRead(recordType, fields);
      if (wanted.length === 0) return emptyPage;
      return readRecords(plan, { ids: sortIds(wanted) }, maxRowsPerQuery, signal);
    },
    async scan({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      if (plan.lines !== null)
        throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A scan reads no lines: use readByIds');
      if (selection.ids === undefined)
        return scanRecords(plan, { afterId: selection.afterId }, pageLimit(selection.limit), signal);
      const wanted = distinctIds(selection.ids);
      return wanted.length === 0 ? emptyPage : scanRecords(plan, { ids: wanted }, maxRowsPerQuery, signal);
    },
  };
}

/** Ascending; unchanged where one isn't an id, which the query then refuses. */
const sortIds = (ids: readonly string[]) => (ids.every(isIdText) ? ids.toSorted(compareIds) : ids);

const emptyPage = { records: [], rejected: [], lastId: null, hasMore: false };

/**
 * Secrets that don't match the settings' authentication method can't sign in: an ErpError with each request,
 * not a programming error.
 */
function createAuthorizer(
  ctx: ConnectorCtx,
  origin: string,
  settings: NetsuiteSettings,
  secrets: NetsuiteSecrets,
): Authorizer {
  const { authentication } = settings;
  if (authentication.method === 'oauth2' && 'privateKeyPem' in secrets)
    return createOauth2Authorizer(ctx, origin, { ...authentication, ...secrets });
  if (authentication.method === 'tba' && 'tokenSecret' in secrets)
    return createTbaAuthorizer(ctx.clock, accountRealm(settings.accountId), {
      ...authentication,
      ...secrets,
    });
  const refusal = erpError(
    'credentials',
    'INVALID_LOGIN',
    'The stored secrets belong to another authentication method',
  );
  return { authorize: () => Promise.reject(refusal), invalidate: () => undefined };
}

async function readServerTime(http: NetsuiteHttp, signal: AbortSignal): Promise<Date> {
  const { json: response } = await http.send({ method: 'GET', path: 'system/v1/serverTime', signal });
  const text: unknown =
    typeof response === 'object' && response !== null ? Reflect.get(response, 'serverTime') : undefined;
  if (typeof text !== 'string' || !isTime(text.replace(/\.\d+Z$/, 'Z')))
    throw inconsistentResponse('The response to the server time request is not a time in UTC');
  return new Date(text);
}

/** An account may refuse CURRENT_DATE; SYSDATE may be off by the difference of the two time zones. */
async function readToday(suiteql: Suiteql, signal: AbortSignal): Promise<string> {
  const query = (now: 'CURRENT_DATE' | 'SYSDATE') => suiteql.query(todayQuery(now), 1, signal);
  const { rows } = await query('CURRENT_DATE').catch((error: unknown) => {
    if (!(error instanceof ErpError) || error.kind !== 'query') throw error;
    return query('SYSDATE');
  });
  const today = parseValue(rows[0]?.['today'], 'date');
  if (rows.length !== 1 || typeof today !== 'string')
    throw inconsistentResponse('The response to the query for the current day is not a date');
  return today;
}

async function countRecords(
  suiteql: Suiteql,
  ...[recordType, signal, range]: Parameters<Connector['count']>
): Promise<number> {
  const definition = getDefinition(recordType);
  const { rows } = await suiteql.query(countQuery(definition, range), 1, signal);
  const { n: count, keyed = count, timed = count } = rows[0] ?? {};
  if (rows.length !== 1 || typeof count !== 'string' || !/^\d{1,15}$/.test(count))
    throw inconsistentResponse('The response to a count query is not a number');
  if (keyed !== count) throw keyIsEmpty(definition.key);
  if (timed !== count) throw modifiedIsEmpty(definition);
  return Number(count);
}

async function countChanged(
  suiteql: Suiteql,
  { recordType, since, signal, range }: Parameters<NonNullable<Connector['countChanged']>>[0],
): Promise<ChangeCounts> {
  requireModifiedField(recordType);
  const definition = getDefinition(recordType);
  const lines = recordType.linesModifiedField !== null && hasTime(definition.lines) ? definition.lines : null;
  const counted = suiteql.query(changeCountQuery(definition, lines, since, range), 1, signal);
  const { rows } = await (lines === null ? counted : counted.catch(rethrowHiddenLines));
  const getCount = (key: string): number => {
    const count = rows[0]?.[key];
    if (rows.length !== 1 || typeof count !== 'string' || !/^\d{1,15}$/.test(count))
      throw inconsistentResponse('The response to a count of changes is not a number');
    return Number(count);
  };
  return {
    records: getCount(changedRecordsKey),
    withChangedLines: lines === null ? null : getCount(changedLinesKey),
  };
}

/** Rows of the same table that aren't of this type; a filter by subsidiary says nothing about the type. */
async function filterMoved(
  suiteql: Suiteql,
  { recordType, ids, signal }: Parameters<NonNullable<Connector['filterMoved']>>[0],
) {
  const { filter: _, ...ofAllSubsidiaries } = recordType;
  const definition = getDefinition(ofAllSubsidiaries);
  const wanted = distinctIds(ids);
  if (definition.filter === null || wanted.length === 0) return [];
  const others = { ...definition, filter: `NOT (${definition.filter})` };
  const query = recordsQuery(others, [{ name: 'id', type: 'integer' }], { ids: wanted });
  const { rows } = addIds(definition, await suiteql.query(query, maxRowsPerQuery, signal));
  assertIdOrder(rows, { ids: wanted });
  return rows.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
}

async function listIds(
  suiteql: Suiteql,
  { recordType, afterId, changedSince = null, limit, signal }: Parameters<Connector['listIds']>[0],
) {
  const definition = getDefinition(recordType);
  const time =
    changedSince === null ? [] : [{ name: requireModifiedField(recordType), type: 'time' as const }];
  const query = recordsQuery(definition, [{ name: 'id', type: 'integer' }, ...time], {
    afterId,
    changedSince,
  });
  const { rows, hasMore } = addIds(definition, await suiteql.query(query, pageLimit(limit), signal));
  assertIdOrder(rows, { afterId });
  const listed = rows.map((row): ListedRecord => {
    const { id } = row;
    if (typeof id !== 'string' || id === '')
      throw inconsistentResponse('A row of ids has an id that is not a string');
    const modifiedAt = parseValue(time[0] === undefined ? null : row[valueKey(time[0].name)], 'time');
    if (changedSince !== null && modifiedAt === null)
      throw inconsistentResponse(`The record ${id} was selected by its modification time and has none`);
    // The engine knows a record as rejected whose id isn't an integer or whose time can't be read.
    return { id, modifiedAt: modifiedAt ?? null };
  });
  return { listed, hasMore };
}
