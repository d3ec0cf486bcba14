// What the settings of the portal would be for what is synced, before anything was saved.

import type { TenantCtx } from '../../core/ctx.ts';
import { languages, type Meaning, type recordRoles } from '../../core/text/portal-terms.ts';
import type { Available } from '../../public/index.ts';
import { findDescription } from '../../sync/index.ts';
import { defaultQuestionsPerDay, type PortalSettings } from './access.schemas.ts';
import { listProblems } from './access-problems.ts';
import { sourceTypes } from './sources.ts';

type Role = (typeof recordRoles)[number];
type Described = NonNullable<Awaited<ReturnType<typeof findDescription>>>;
type Entry = PortalSettings['records'][number];

const customer = 'customer';
const rolesByName: readonly (readonly [RegExp, Role])[] = [
  // They don't change what is owed: paid with the goods, or kept apart until they are applied.
  [/^cash|deposit/, 'other'],
  [/refund/, 'refund'],
  [/credit/, 'credit'],
  [/invoice/, 'invoice'],
  [/payment/, 'payment'],
  [/journal/, 'journal'],
];
const roleOf = (recordType: string): Role =>
  rolesByName.find(([name]) => name.test(recordType.toLowerCase()))?.[1] ?? 'other';

/** People who are inactive in the ERP are no visitors. */
const whenActive = (types: ReadonlyMap<string, unknown>): Entry['conditions'] =>
  types.has('isinactive') ? [{ field: 'isinactive', in: ['false'] }] : [];

/** A document that is pending approval isn't owed yet. */
const whenPosted = (role: Role, types: ReadonlyMap<string, unknown>): Entry['conditions'] =>
  role !== 'other' && types.get('posting') === 'boolean' ? [{ field: 'posting', in: ['true'] }] : [];

const unpaid = /unpaid|amountdue|openbalance|remaining/i;

function toMeanings(
  { fields, shownAs }: Described,
  types: ReadonlyMap<string, unknown>,
  role: Role,
): Entry['fields'] {
  const isDue = role !== 'refund' && role !== 'journal';
  const first = (...wanted: (string | null | undefined)[]): string | undefined =>
    wanted.find((source): source is string => typeof source === 'string' && types.has(source));
  const named = (test: (field: Described['fields'][number]) => boolean): string | undefined =>
    fields.find((field) => types.has(field.name) && test(field))?.name;
  const found: Record<Meaning, string | undefined> = {
    number: first(shownAs.number),
    date: first(shownAs.date),
    dueDate: isDue ? named(({ name, type }) => type === 'date' && /due/i.test(name)) : undefined,
    amount: first(shownAs.amount, 'foreigntotal', 'total'),
    amountDue: isDue ? named(({ name, type }) => type === 'number' && unpaid.test(name)) : undefined,
    currency: first('currency.name', 'currency'),
    status: first('status.name', 'status'),
  };
  return Object.fromEntries(
    Object.entries(found).filter(([, source]) => source !== undefined),
  ) as Entry['fields'];
}

/** Undefined for a record type that names no customer. */
async function proposeRecords(
  ctx: TenantCtx,
  recordType: string,
  available: Available,
): Promise<Entry | undefined> {
  const customerField = Object.entries(available[recordType]?.targets ?? {}).find(
    ([, target]) => target === customer,
  )?.[0];
  const described = await findDescription(ctx, recordType);
  const types = sourceTypes(available, recordType);
  if (customerField === undefined || described === undefined || !types.has(customerField)) return undefined;
  const role = roleOf(recordType);
  const fields = toMeanings(described, types, role);
  if (fields.date === undefined) return undefined;
  return { recordType, customerField, role, fields, conditions: whenPosted(role, types) };
}

/** Only what passes the checks of settings that are saved. */
export async function proposeSettings(ctx: TenantCtx, available: Available): Promise<PortalSettings> {
  const synced = Object.keys(available)
    .filter((name) => available[name]?.hasData === true)
    .sort((one, other) => Number(other === customer) - Number(one === customer));
  const people = synced.flatMap((recordType) => {
    const types = sourceTypes(available, recordType);
    const reference = Object.entries(available[recordType]?.targets ?? {}).find(
      ([field, target]) => target === customer && field === 'company',
    )?.[0];
    const customerField = recordType === customer ? 'id' : reference;
    return types.get('email') === 'text' && customerField !== undefined
      ? [{ recordType, emailField: 'email', customerField, conditions: whenActive(types) }]
      : [];
  });
  const types = new Set(people.map(({ recordType }) => recordType));
  const records: Entry[] = [];
  for (const recordType of synced) {
    const found = types.has(recordType) ? undefined : await proposeRecords(ctx, recordType, available);
    if (found !== undefined) records.push(found);
  }
  const settings: PortalSettings = {
    enabled: false,
    people,
    records,
    unusedRoles: [],
    includeChildren: false,
    publicApi: false,
    agentId: null,
    visitorQuestionsPerDay: defaultQuestionsPerDay,
    signInLifetimeDays: 14,
    languages: [...languages],
    defaultLanguage: 'en',
  };
  const wrong = (part: 'people' | 'records', index: number): boolean =>
    listProblems(settings, available).some(({ path }) => path.startsWith(`${part}[${index}]`));
  return {
    ...settings,
    people: people.filter((_, index) => !wrong('people', index)),
    records: records.filter((_, index) => !wrong('records', index)),
  };
}
