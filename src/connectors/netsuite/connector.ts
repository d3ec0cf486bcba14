// Opens a NetSuite account as a Connector. This file only puts the parts together; what they decide stands with them.
import type { Ctx } from '../../core/ctx.ts';
import type { Connector, ConnectorKind } from '../connector.ts';
import { type Authorizer, openOauth2 } from './auth.ts';
import { watchClock } from './clock-watch.ts';
import { type NetsuiteSecrets, type NetsuiteSettings, realmOf, serviceOrigin } from './connection.ts';
import { testConnection } from './connection-test.ts';
import { readDeletions } from './deletions.ts';
import { erpError, inconsistent } from './errors.ts';
import { type NetsuiteHttp, openNetsuiteHttp } from './http.ts';
import { sharedLimiter } from './limiter.ts';
import { readMetadata } from './metadata.ts';
import { openPaymentWriter } from './payments.ts';
import { countQuery, recordsQuery } from './queries.ts';
import { definitionOf, planRead } from './read-plan.ts';
import { type Pace, readRecords, scanRecords } from './records.ts';
import { checkOrder } from './rows.ts';
import { largestPage, openSuiteql, type Suiteql } from './suiteql.ts';
import { openTba } from './tba.ts';

type ConnectorCtx = Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;

/** Settings and secrets as `connection.ts` describes them; whoever reads them from the database parses them first. */
export const netsuite: ConnectorKind<NetsuiteSettings, NetsuiteSecrets> = { open: openAccount };

function openAccount(outer: ConnectorCtx, settings: NetsuiteSettings, secrets: NetsuiteSecrets): Connector {
  const watch = watchClock(outer.fetch, outer.clock);
  const ctx = { ...outer, fetch: watch.fetch };
  const origin = serviceOrigin(settings);
  const account = realmOf(settings.accountId);
  const authorizer = openAuthorizer(ctx, origin, settings, secrets);
  const limiter = sharedLimiter(outer.fetch, `${origin} ${account}`, ctx.settings.erp.concurrency);
  const http = openNetsuiteHttp({ ctx, origin, authorizer, limiter });
  const suiteql = openSuiteql(http);
  const pace: Pace = new Map();
  return {
    test: (signal) => testConnection({ clock: ctx.clock, watch, suiteql, account, now: () => serverTime(http, signal) }, signal),
    now: (signal) => serverTime(http, signal),
    metadata: (signal) => readMetadata({ http, suiteql }, signal),
    count: (recordType, signal) => countRecords(suiteql, recordType, signal),
    async readPage({ recordType, fields, afterId, changedSince, limit, signal }) {
      const plan = planRead(recordType, fields);
      if (changedSince !== null && !plan.hasModified)
        throw erpError('query', 'FIELD_NOT_SYNCABLE', `${recordType.name} does not tell when it was changed`);
      return readRecords(suiteql, plan, { afterId, changedSince }, pageLimit(limit), pace, signal);
    },
    async readByIds({ recordType, fields, ids, signal }) {
      const wanted = distinctIds(ids);
      const plan = planRead(recordType, fields);
      if (wanted.length === 0) return nothing;
      return readRecords(suiteql, plan, { ids: wanted }, largestPage, pace, signal);
    },
    async scan({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      if (plan.lines !== null) throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A scan has no lines');
      if (selection.ids === undefined)
        return scanRecords(suiteql, plan, { afterId: selection.afterId }, pageLimit(selection.limit), signal);
      const wanted = distinctIds(selection.ids);
      return wanted.length === 0 ? nothing : scanRecords(suiteql, plan, { ids: wanted }, largestPage, signal);
    },
    deletedSince: ({ recordType, since, signal }) => readDeletions(suiteql, definitionOf(recordType), since, signal),
    listIds: (request) => listIds(suiteql, request),
    payments: openPaymentWriter(http, suiteql),
  };
}

const nothing = { records: [], rejected: [], lastId: null, hasMore: false };

function distinctIds(ids: readonly string[]): string[] {
  const distinct = [...new Set(ids)];
  if (distinct.length > largestPage) throw new RangeError(`at most ${largestPage} ids at once`);
  return distinct;
}

const pageLimit = (limit: number): number => Math.min(Math.max(1, Math.trunc(limit)), largestPage);

/** Secrets of another method than the settings name can't sign in: that is a refusal, not a fault of the program. */
function openAuthorizer(ctx: ConnectorCtx, origin: string, settings: NetsuiteSettings, secrets: NetsuiteSecrets): Authorizer {
  const { authentication } = settings;
  if (authentication.method === 'oauth2' && 'privateKeyPem' in secrets) return openOauth2(ctx, origin, { ...authentication, ...secrets });
  if (authentication.method === 'tba' && 'tokenSecret' in secrets)
    return openTba(ctx.clock, realmOf(settings.accountId), { ...authentication, ...secrets });
  const refusal = erpError('credentials', 'INVALID_LOGIN', 'The stored secrets belong to another way of signing in');
  return { authorize: () => Promise.reject(refusal), renew: () => undefined };
}

async function serverTime(http: NetsuiteHttp, signal: AbortSignal): Promise<Date> {
  const answer = await http.send({ method: 'GET', path: 'system/v1/serverTime', signal });
  const text: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'serverTime') : undefined;
  const isTime = typeof text === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/.test(text);
  const time = new Date(isTime ? text : Number.NaN);
  if (Number.isNaN(time.getTime())) throw inconsistent('The answer to the question for the time is no time in UTC');
  return time;
}

async function countRecords(suiteql: Suiteql, recordType: Parameters<Connector['count']>[0], signal: AbortSignal): Promise<number> {
  const { rows } = await suiteql.ask(countQuery(definitionOf(recordType)), 1, signal);
  const count = rows[0]?.['n'];
  if (rows.length !== 1 || typeof count !== 'string' || !/^\d{1,15}$/.test(count))
    throw inconsistent('The answer to a count is not a number');
  return Number(count);
}

type IdsRequest = Parameters<Connector['listIds']>[0];

async function listIds(suiteql: Suiteql, { recordType, afterId, changedSince = null, limit, signal }: IdsRequest) {
  const query = recordsQuery(definitionOf(recordType), [{ name: 'id', type: 'integer' }], { afterId, changedSince });
  const { rows, hasMore } = await suiteql.ask(query, pageLimit(limit), signal);
  checkOrder(rows, { afterId });
  const ids = rows
    .map((row) => row['id'])
    .map((id) => {
      if (typeof id !== 'string' || id === '') throw inconsistent('A row of ids has an id that is no text');
      return id; // one that is no integer is known to the engine as rejected
    });
  return { ids, hasMore };
}
