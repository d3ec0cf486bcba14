// The scopes of a key or a token while they are edited, as the texts of a form.
import type { paths } from '../../api.ts';
import { splitList } from '../../parts/record-form.tsx';
import type { Version } from '../../versions.ts';
import type { Scopes } from './scope-words.ts';

type NewScopes = NonNullable<
  paths['/api-keys']['post']['requestBody']['content']['application/json']['scopes']
>;
type Rows = NonNullable<Scopes['rows']>;
type Row = { readonly resource: string; readonly field: string; readonly values: string };

/**
 * `rows` is the JSON of a list of `Row`; `others` says whether resources without a condition are read whole.
 */
export type RowTexts = { readonly rows: string; readonly others: string };
export type ScopeTexts = RowTexts & {
  readonly versions: string;
  readonly resources: string;
  readonly unmasked: string;
  readonly access: string;
};

export const parseRows = (text: string): Row[] => JSON.parse(text || '[]');

export const toTexts = ({ versions, resources, permissions, rows, unmasked }: Scopes): ScopeTexts => ({
  versions: versions.join(),
  resources: resources.join(),
  rows: JSON.stringify(
    Object.entries(rows ?? {}).flatMap(([resource, conditions]) =>
      conditions.map(({ field, in: values }): Row => ({ resource, field, values: values.join(', ') })),
    ),
  ),
  others: String(rows !== null && '*' in rows),
  unmasked: String(unmasked),
  access: permissions[0] === 'none' ? 'none' : permissions.includes('write') ? 'write' : 'read',
});

/** Null: all records. Resources that `whole` names are read without a condition. */
export function toRows({ rows, others }: RowTexts, whole: readonly string[] = []): Rows | null {
  const conditions = parseRows(rows);
  if (conditions.length === 0 && whole.length === 0) return null;
  const byResource: Rows = Object.fromEntries(whole.map((resource) => [resource, []]));
  for (const { resource, field, values } of conditions)
    byResource[resource] = [
      ...(byResource[resource] ?? []),
      { field, in: values.split(',').flatMap((value) => value.trim() || []) },
    ];
  return others === 'true' ? { ...byResource, '*': [] } : byResource;
}

/** `before`: the scopes of a key that is changed; its resources without conditions keep none. */
export function toScopes(texts: ScopeTexts, before: Scopes | undefined) {
  const whole = Object.entries(before?.rows ?? {}).flatMap(([resource, conditions]) =>
    conditions.length === 0 && resource !== '*' ? [resource] : [],
  );
  return {
    versions: splitList(texts.versions),
    resources: splitList(texts.resources),
    rows: toRows(texts, whole),
    unmasked: texts.unmasked === 'true',
    permissions: toPermissions(texts, before),
  };
}

/** A key that becomes limited keeps no right to write, which would come back with the end of its limits. */
function toPermissions(texts: ScopeTexts, before: Scopes | undefined): NonNullable<NewScopes['permissions']> {
  if (texts.access === 'none') return ['none'];
  return [texts.access === 'write' && !isLimited(texts, before) ? 'write' : 'read'];
}

/** Whether a key with these scopes reads the public interface only. */
export const isLimited = ({ versions, resources, rows }: ScopeTexts, before: Scopes | undefined): boolean =>
  versions !== '' || resources !== '' || parseRows(rows).length > 0 || Boolean(before?.fields);

/** The fields by which the rows of a resource can be limited. */
export const listScopable = (versions: readonly Version[], resource: string | undefined): string[] => [
  'id',
  ...new Set(
    versions
      .flatMap(({ endpoints }) => endpoints.filter(({ name }) => name === resource))
      .flatMap(({ fields }) => fields.filter(({ scopable }) => scopable === true).map(({ name }) => name)),
  ),
];
