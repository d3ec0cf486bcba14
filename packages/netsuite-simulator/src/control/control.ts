// What the requests of the control interface do. Every function works on the account's own settings and
// books; none of them answers HTTP.
import type { PoolClient } from 'pg';
import type { z } from 'zod';
import type { AccountClock } from '../account-clock.ts';
import { inSnapshot, type QuerySettings } from '../database/snapshot.ts';
import { inWriteTransaction } from '../database/write-transaction.ts';
import { type Governance, NO_LOAD } from '../governance.ts';
import type { WriteSettings } from '../records/write-record.ts';
import type { AccessTokens } from '../sign-in/access-tokens.ts';
import type { Integrations } from '../sign-in/integrations.ts';
import { UNRESTRICTED } from '../tables/role-restrictions.ts';
import { NOTHING_HIDDEN } from '../tables/role-visibility.ts';
import { storedValue } from '../tables/table.ts';
import type { ClockBody } from './clock.ts';
import { invalid, notFound } from './control-error.ts';
import { checkFaults, type FaultsBody } from './faults.ts';
import { checkHidden, type HiddenBody } from './hidden.ts';
import { describeLoad, type LoadBody, putLoad } from './load.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import { createRecordLike, type NewRecord } from './records/create-record.ts';
import { editRecord, type RecordEdit } from './records/edit-record.ts';
import { findRecord, listRecords, type TrueRecord } from './records/read-records.ts';
import {
  getEditableTable,
  getReadableTable,
  isEditable,
  isReadable,
  type RecordTable,
} from './records/record-tables.ts';
import { removeRecord, restoreRecord } from './records/remove-record.ts';
import { parsePermissions, parseRestrictions, type RoleBody } from './role.ts';

export type ControlParts = {
  accountId: string;
  accountUrl: string;
  misbehaviour: Misbehaviour;
  query: QuerySettings;
  writes: WriteSettings;
  clock: AccountClock;
  governance: Governance;
  tokens: AccessTokens;
  integrations: Integrations;
  daysLeft: () => number;
};
export type Control = ReturnType<typeof createControl>;

/** The functions throw ControlError 404 and 422 for what doesn't exist or isn't allowed. */
export function createControl(parts: ControlParts) {
  const { clock, governance, misbehaviour, query, writes } = parts;
  const { faults, permissions, traffic } = misbehaviour;
  const { role } = query;
  const timeZone = query.timeZone;
  const setTimeZone = (zone: string): void => {
    query.timeZone = zone;
    writes.timeZone = zone;
  };
  return {
    state: () => readState(parts),
    tables: () => describeTables(parts),
    async reset() {
      role.setHidden(NOTHING_HIDDEN);
      faults.put([]);
      permissions.set({});
      role.setRestrictions(UNRESTRICTED);
      governance.setLoad(NO_LOAD);
      clock.reset();
      setTimeZone(timeZone);
      traffic.reset();
      await misbehaviour.earlier.close();
    },
    /** Stale answers show the books as they are now, until an edit. */
    keepBooks: misbehaviour.earlier.keep,
    hide: (body: z.output<typeof HiddenBody>) => role.setHidden(checkHidden(role, body)),
    async putFaults(body: z.output<typeof FaultsBody>) {
      const checked = checkFaults(role, body);
      if (checked.some(({ stalePage }) => stalePage) && misbehaviour.earlier.snapshot() === undefined)
        await misbehaviour.earlier.keep();
      faults.put(checked);
    },
    setRole: (body: z.output<typeof RoleBody>) => setRole(parts, body),
    setLoad: (body: z.output<typeof LoadBody>) => putLoad(governance, body),
    revokeCertificates: () => revokeCertificates(parts),
    setClock({ stepSeconds, at, timeZone: zone }: z.output<typeof ClockBody>) {
      if (zone !== undefined) setTimeZone(zone);
      if (at !== undefined) clock.set(new Date(at));
      if (stepSeconds !== undefined) clock.step(stepSeconds);
    },
    records: createRecordControl(parts),
    setUp: { accountId: parts.accountId, accountUrl: parts.accountUrl, integrations: parts.integrations },
    fieldParts: () => ({ pool: writes.pool, timeZone: writes.timeZone, role }),
  };
}

async function revokeCertificates({ integrations, tokens }: ControlParts) {
  const revoked = await integrations.revokeAllCertificates();
  tokens.revokeAll();
  return { revoked };
}

/** What the body doesn't have stays as it is. */
function setRole(
  { misbehaviour, query: { role } }: ControlParts,
  { permissions, restrictions }: z.output<typeof RoleBody>,
): void {
  const parsed = restrictions === undefined ? role.restrictions() : parseRestrictions(role, restrictions);
  if (permissions !== undefined) misbehaviour.permissions.set(parsePermissions(permissions));
  role.setRestrictions(parsed);
}

/**
 * Runs an edit, before which the present books are kept for stale answers, unless such answers are being
 * given.
 */
function createEdit({ clock, misbehaviour, writes }: ControlParts) {
  return async <T>(work: (client: PoolClient, now: Date) => Promise<T>): Promise<T> => {
    const isStale = misbehaviour.faults.list().some(({ fault }) => fault.stalePage);
    if (!isStale) await misbehaviour.earlier.keep();
    const now = new Date(Math.floor(clock.now().getTime() / 1000) * 1000);
    return inWriteTransaction(writes.pool, writes.timeZone, (client) => work(client, now));
  };
}

function createRecordControl(parts: ControlParts) {
  const { query } = parts;
  const { role } = query;
  const edit = createEdit(parts);
  const get = async (table: RecordTable['table'], id: string): Promise<TrueRecord> => {
    const found = await inSnapshot(query, (client) => findRecord(client, role, table, id));
    if (!found) throw notFound(`The account has no ${table.name} with the id ${id}.`);
    return found;
  };
  return {
    get: (name: string, id: string) => get(getReadableTable(role, name), id),
    list(name: string, page: { after: string | undefined; limit: number }) {
      const table = getReadableTable(role, name);
      return inSnapshot(query, (client) => listRecords(client, role, table, page));
    },
    async patch(name: string, id: string, body: RecordEdit): Promise<TrueRecord> {
      const record = getEditableTable(role, name);
      await edit((client, now) => editRecord(client, role, record, id, body, now));
      return get(record.table, id);
    },
    async create(name: string, body: NewRecord): Promise<TrueRecord> {
      const record = getEditableTable(role, name);
      return get(
        record.table,
        await edit((client, now) => createRecordLike(client, role, record, body, now)),
      );
    },
    async remove(name: string, id: string, isListed: boolean): Promise<object> {
      const record = getEditableTable(role, name);
      await edit((client, now) => removeRecord(client, record, id, isListed, now));
      return { table: name, id, listed: isListed };
    },
    async restore(name: string, id: string): Promise<TrueRecord> {
      const record = getEditableTable(role, name);
      await edit((client) => restoreRecord(client, record, id));
      return get(record.table, id);
    },
  };
}

async function readState({
  accountId,
  accountUrl,
  clock,
  daysLeft,
  governance,
  integrations,
  misbehaviour,
  query,
}: ControlParts) {
  const { faults, permissions, traffic } = misbehaviour;
  const certificates = (await integrations.list()).flatMap((integration) => integration.certificates);
  const listed = faults.list();
  return {
    account: { id: accountId, url: accountUrl },
    hidden: query.role.hidden(),
    faults: listed.map(({ fault }) => fault),
    /** How many answers each of the faults met. */
    hits: listed.map(({ hits }) => hits),
    clock: {
      now: clock.now().toISOString(),
      skewSeconds: clock.skewSeconds(),
      timeZone: query.timeZone,
      daysLeft: daysLeft(),
    },
    requests: traffic.counts(),
    role: { permissions: permissions.get(), restrictions: query.role.restrictions() },
    load: describeLoad(governance),
    certificates: { active: certificates.filter(({ revokedAt }) => revokedAt === null).length },
    fields: query.role.tables.flatMap(({ name }) => query.role.customFields(name)),
    recent: traffic.recent(),
  };
}

const describeTables = ({ query: { role } }: ControlParts) => ({
  tables: role.tables.map(({ name }) => ({
    name,
    isReadable: isReadable(name),
    isEditable: isEditable(name),
    columns: (role.known(name)?.columns ?? []).map((column) => ({
      name: column.name,
      kind: column.kind,
      isStored: storedValue(column) !== undefined,
    })),
  })),
});

/** Throws ControlError 422 unless it is a whole number from 1 to 1,000. */
export function parseLimit(text: string | undefined): number {
  const limit = Number(text ?? 1000);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalid({ path: 'limit', message: 'must be a whole number from 1 to 1000' });
  return limit;
}
