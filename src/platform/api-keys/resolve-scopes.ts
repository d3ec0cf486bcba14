// Turns the scopes that a caller gives into those that are stored: field names become fields of record types,
// values become texts that fit their type. Names mean what they mean in the versions of that time.
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import {
  type AccessLayer,
  allowsField,
  type ResourceRows,
  type RowCondition,
  unlimitedLayer,
} from '../../core/record-access.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import type { Tx } from '../../db/transaction.ts';
import { parseFilterValue } from '../../public/index.ts';
import type { ReadScopes } from './api-keys.schemas.ts';
import { findOwn } from './ceiling.ts';
import { listScopeTargets, listVersionResources, type ScopeTarget } from './scopes.store.ts';

/** `path`: where the scopes are in the request. `before`: the scopes that they replace. */
export type GivenScopes = {
  readonly scopes: ReadScopes;
  readonly path: string;
  readonly before?: AccessLayer | undefined;
  /** Problems name no field beyond this layer. */
  readonly within?: AccessLayer;
};

export type ResolvedScopes = { readonly layer: AccessLayer; readonly problems: readonly ErrorDetail[] };

const maxProblems = 100;

type Condition = NonNullable<ReadScopes['rows']>[string][number];
type Suggest = ReturnType<typeof createSuggestions>;
/** `suggest`: what names that don't exist may have been meant to be. */
type Report = { (path: string, code: string, message: string): void; readonly suggest: Suggest };

/** How responses show a layer. */
export const scopesView = ({ versions, resources, rows, fields }: AccessLayer) => ({
  versions: [...versions],
  resources: [...resources],
  rows: rows && {
    ...Object.fromEntries(
      Object.entries(rows.resources).map(([name, { conditions }]) => [
        name,
        conditions.map((condition) => ({ field: condition.field, in: [...condition.in] })),
      ]),
    ),
    ...(rows.others && { '*': [] }),
  },
  fields: fields && Object.fromEntries(Object.entries(fields).map(([name, listed]) => [name, [...listed]])),
});

/**
 * Resolves several scopes with two queries. A layer with problems isn't to be stored; its limits are those
 * that were asked for, or tighter. Versions and resources must exist, drafts included, unless `before` has
 * them: a credential would later read whatever gets that name.
 */
export async function resolveScopes(
  tx: Tx,
  organizationId: string,
  given: readonly GivenScopes[],
): Promise<ResolvedScopes[]> {
  const existing = given.some(({ scopes: { versions, resources } }) => versions.length + resources.length > 0)
    ? await listVersionResources(tx, organizationId)
    : [];
  const names = new Set(
    given.flatMap(({ scopes: { rows, fields } }) => [
      ...Object.keys(rows ?? {}),
      ...Object.keys(fields ?? {}),
    ]),
  );
  const targets = names.size === 0 ? [] : await listScopeTargets(tx, organizationId, [...names]);
  const suggest = createSuggestions();
  return given.map((one) => resolve(one, existing, targets, suggest));
}

/** Throws 422 when there are problems. */
export function assertResolved(problems: readonly ErrorDetail[]): void {
  if (problems.length === 0) return;
  const has = (code: string) => problems.some((problem) => problem.code === code);
  const kind = has('unknown_version') ? 'versions' : has('unknown_resource') ? 'resources' : undefined;
  throw invalid(
    kind === undefined ? 'The scopes are not valid' : `The scopes name ${kind} that do not exist`,
    problems.slice(0, maxProblems),
  );
}

type Existing = Awaited<ReturnType<typeof listVersionResources>>;

function reportUnknown({ scopes, before }: GivenScopes, existing: Existing, report: Report): void {
  const { versions } = scopes;
  const added = (name: 'versions' | 'resources') =>
    scopes[name].filter((one) => !before?.[name].includes(one));
  for (const label of added('versions'))
    if (!existing.some(({ version }) => version === label))
      report(
        'versions',
        'unknown_version',
        `There is no version ${label}. Choose one of the existing versions.`,
      );
  const considered = existing.filter(({ version }) => versions.length === 0 || versions.includes(version));
  const where = versions.length === 0 ? 'No version has' : `Version ${versions.join(', ')} does not have`;
  for (const name of added('resources'))
    if (!considered.some(({ resources }) => resources.includes(name)))
      report(
        'resources',
        'unknown_resource',
        `${where} a resource ${name}. Choose resources of these versions.`,
      );
}

function resolve(
  given: GivenScopes,
  existing: Existing,
  all: readonly ScopeTarget[],
  suggest: Suggest,
): ResolvedScopes {
  const { scopes, path, before } = given;
  const { versions, resources, rows, fields } = scopes;
  const problems: ErrorDetail[] = [];
  const add = (at: string, code: string, message: string): void => {
    if (problems.length < maxProblems) problems.push({ path: `${path}.${at}`, code, message });
  };
  const report: Report = Object.assign(add, { suggest });
  reportUnknown(given, existing, report);
  const listTargets = (name: string): readonly ScopeTarget[] => considered(all, name, versions);
  const resolved: Record<string, ResourceRows> = {};
  for (const [name, conditions] of Object.entries(rows ?? {})) {
    if (name === '*') continue;
    const kept = before && findKept(before, name, conditions, versions);
    resolved[name] =
      kept ??
      resolveRows(
        conditions,
        { name, targets: listTargets(name), isNamed: versions.length > 0, within: given.within },
        report,
      );
  }
  for (const [name, listed] of Object.entries(fields ?? {})) {
    const kept = findOwn(before?.fields, name) ?? [];
    checkFields(
      name,
      listed.filter((field) => !kept.includes(field)),
      listTargets(name),
      report,
    );
  }
  const layer = {
    versions,
    resources,
    rows: rows && { resources: resolved, others: Object.hasOwn(rows, '*') },
    fields,
  };
  return { layer, problems };
}

/** The named versions, else the living ones, else drafts, as far as they have the resource. */
function considered(
  all: readonly ScopeTarget[],
  name: string,
  versions: readonly string[],
): readonly ScopeTarget[] {
  const having = all.filter(({ endpoint }) => endpoint.name === name);
  if (versions.length > 0) return having.filter(({ version }) => versions.includes(version));
  const living = having.filter(({ status }) => status === 'published' || status === 'deprecated');
  return living.length > 0 ? living : having.filter(({ status }) => status === 'draft');
}

const listValues = ({ in: values, eq }: Condition) => values ?? (eq === undefined ? [] : [eq]);

/** Conditions given again for the same versions keep their meaning, even when no version has their fields. */
function findKept(
  before: AccessLayer,
  name: string,
  conditions: readonly Condition[],
  versions: readonly string[],
) {
  const kept = findOwn(before.rows?.resources, name);
  const given = conditions.map((condition) => [condition.field, listValues(condition)]);
  const isSame =
    kept !== undefined &&
    JSON.stringify([given, versions]) ===
      JSON.stringify([kept.conditions.map(({ field, in: texts }) => [field, texts]), before.versions]);
  return isSame ? kept : undefined;
}

/** The record type's field behind a name, and the type of its values; null where a draft leaves it open. */
type Source = { readonly source: string; readonly type: Parameters<typeof parseFilterValue>[0] | null };

function scopableSource({ endpoint, binding }: ScopeTarget, name: string): Source | undefined {
  if (name === 'id') return { source: 'id', type: binding?.idType ?? null };
  const field = endpoint.fields.find((one) => one.name === name && one.scopable === true);
  const type = field && findOwn(binding?.columns, field.source)?.type;
  return field && { source: field.source, type: type === undefined || type === 'lines' ? null : type };
}

/** Whether a scope on this source applies in the version, under whatever name. */
const hasSource = ({ endpoint }: ScopeTarget, source: string): boolean =>
  source === 'id' || endpoint.fields.some((field) => field.source === source && field.scopable === true);

type Wanted = {
  readonly name: string;
  readonly targets: readonly ScopeTarget[];
  readonly isNamed: boolean;
  readonly within: AccessLayer | undefined;
};

function resolveRows(
  conditions: readonly Condition[],
  { name, targets, isNamed, within }: Wanted,
  report: Report,
): ResourceRows {
  const at = `rows.${name}`;
  const [newest] = targets;
  const none = { recordType: '', conditions: [] };
  if (newest === undefined) {
    report(
      at,
      'unknown_resource',
      `${isNamed ? 'None of the versions has' : 'No version has'} a resource ${name}`,
    );
    return none;
  }
  const chosen = targets.find((target) =>
    conditions.every(({ field }) => scopableSource(target, field) !== undefined),
  );
  if (chosen === undefined) {
    reportUnscopable(conditions, { name, targets, isNamed, within }, report);
    return none;
  }
  const { recordType } = chosen.endpoint;
  const others = targets.filter(({ endpoint }) => endpoint.recordType !== recordType);
  if (!isNamed && others.length > 0)
    report(
      at,
      'ambiguous_resource',
      `${name} has another record type in ${formatVersions(others)}. Name the versions in scopes.versions`,
    );
  const resolved = conditions.map((condition, index): RowCondition => {
    const { source, type } = scopableSource(chosen, condition.field) ?? { source: '', type: null };
    const lacking = targets.filter((target) => others.includes(target) || !hasSource(target, source));
    if (isNamed) reportInapplicable(`${at}[${index}].field`, name, lacking, report);
    return { field: condition.field, source, in: readValues(condition, type, `${at}[${index}]`, report) };
  });
  if (isNamed && conditions.length === 0) reportInapplicable(at, name, others, report);
  return { recordType, conditions: resolved };
}

const formatVersions = (targets: readonly ScopeTarget[]) => targets.map(({ version }) => version).join(', ');

/** Named versions to which the scope would not apply. */
function reportInapplicable(at: string, name: string, others: readonly ScopeTarget[], report: Report) {
  if (others.length === 0) return;
  const reason = `${name} has another record type there, or the field is not scopable`;
  report(at, 'not_scopable', `The row scope would not apply to ${formatVersions(others)}: ${reason}`);
}

/** No version has all fields of the conditions as scopable ones. */
function reportUnscopable(
  conditions: readonly Condition[],
  { name, targets, within = unlimitedLayer }: Wanted,
  report: Report,
): void {
  const isVisible = (field: string) => allowsField({ layers: [within], unmasked: false }, name, field);
  const scopable = (targets[0]?.endpoint.fields ?? [])
    .filter((field) => field.scopable === true)
    .map((field) => field.name);
  const names = ['id', ...scopable.filter(isVisible)];
  let reported = false;
  for (const [index, { field }] of conditions.entries()) {
    if (targets.some((target) => scopableSource(target, field) !== undefined)) continue;
    reported = true;
    const at = `rows.${name}[${index}].field`;
    const versions = [...new Set(targets.map(({ version }) => version))].join(', ');
    if (targets.some(({ endpoint }) => endpoint.fields.some((one) => one.name === field)))
      report(at, 'not_scopable', `${field} is not scopable in ${versions}. Scopable: ${names.join(', ')}`);
    else
      report(
        at,
        'unknown_field',
        `${name} has no field "${field}" in ${versions}.${report.suggest(field, () => names)}`,
      );
  }
  if (!reported)
    report(`rows.${name}`, 'not_scopable', 'No version has all of these fields as scopable ones');
}

/** The texts of the values, as the column writes them; a type of null takes any. Reports those that don't fit. */
export function readValues(
  condition: Condition,
  type: Source['type'],
  at: string,
  report: (path: string, code: string, message: string) => void,
): string[] {
  return listValues(condition).map((value, index) => {
    const place = condition.in === undefined ? `${at}.eq` : `${at}.in[${index}]`;
    if (type === null) return String(value);
    const isNumeric = type === 'number' || type === 'integer';
    const isOtherType =
      (typeof value === 'number' && !isNumeric) || (typeof value === 'boolean' && type !== 'boolean');
    const isInexact = Number.isInteger(value) && !Number.isSafeInteger(value);
    const read = parseFilterValue(type, String(value));
    if (isOtherType)
      report(place, 'invalid_value', `must be a string: ${condition.field} is of type ${type}`);
    else if (isInexact) report(place, 'invalid_value', 'is not exact as a JSON number: write a string');
    else if ('code' in read) report(place, read.code, read.message);
    return 'value' in read && typeof read.value === 'string' ? read.value : String(value);
  });
}

function checkFields(
  name: string,
  listed: readonly string[],
  targets: readonly ScopeTarget[],
  report: Report,
): void {
  if (targets.length === 0 && listed.length > 0)
    report(`fields.${name}`, 'unknown_resource', `No version has a resource ${name}`);
  if (targets.length === 0) return;
  const known = new Set([
    'id',
    ...targets.flatMap(({ endpoint }) => endpoint.fields.map((field) => field.name)),
  ]);
  for (const field of listed)
    if (!known.has(field))
      report(
        `fields.${name}`,
        'unknown_field',
        `${name} has no field "${field}".${report.suggest(field, () => known)}`,
      );
}
