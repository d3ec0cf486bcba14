// The permissions of a role as a table: one row per resource, one column per action.

import type { Item } from '../../api.ts';
import { sentenceCase } from '../../format.ts';

export type PermissionEntry = Item<'/organizations/{id}/permissions'>;

type Cell = {
  readonly name: string;
  readonly action: string;
  readonly description: string;
  readonly held: boolean;
};
type Row = { readonly resource: string; readonly label: string; readonly cells: readonly Cell[] };

const commonActions = ['read', 'create', 'update', 'delete'];

/** Resources by the area of the console in which they appear. Others are listed last. */
const groups: readonly (readonly [title: string, resources: readonly string[]])[] = [
  ['Data in', ['connection', 'netsuite', 'sync']],
  ['Data out', ['api-schema', 'api-key', 'record', 'unmasked']],
  ['Portal', ['view', 'subscription', 'portal', 'agent', 'conversation']],
  ['Payments', ['payment', 'pay-config', 'payout']],
  ['Organization', ['organization', 'member', 'invitation', 'role', 'team', 'domain', 'audit']],
];

function toRows(permissions: readonly PermissionEntry[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { name, description, held, grantable } of permissions) {
    if (!grantable) continue;
    const [resource = '', action = ''] = name.split(':');
    // A description is the action and the resource: "approve deletions sync configurations".
    const { label, cells } = rows.get(resource) ?? {
      label: sentenceCase(description.slice(action.length + 1)),
      cells: [],
    };
    rows.set(resource, { resource, label, cells: [...cells, { name, action, description, held }] });
  }
  return [...rows.values()];
}

function toGroups(
  permissions: readonly PermissionEntry[],
): (readonly [title: string, rows: readonly Row[]])[] {
  const rows = toRows(permissions);
  const chooseGroup = (resource: string): string =>
    groups.find(([, resources]) => resources.includes(resource))?.[0] ?? 'Other';
  return [...groups.map(([title]) => title), 'Other']
    .map((title) => [title, rows.filter(({ resource }) => chooseGroup(resource) === title)] as const)
    .filter(([, found]) => found.length > 0);
}

type MatrixProps = {
  permissions: readonly PermissionEntry[];
  granted: ReadonlySet<string>;
  /** Without it the matrix only shows. */
  onChange?: ((name: string, granted: boolean) => void) | undefined;
};

function Mark({ cell, granted, onChange, named = false }: MatrixProps & { cell: Cell; named?: boolean }) {
  const has = granted.has(cell.name);
  const words = sentenceCase(cell.action.replaceAll('-', ' '));
  if (onChange === undefined)
    return has ? (
      <span class="mark">
        <span role="img" aria-label={`May ${cell.description}`}>
          ✓
        </span>
        {named && ` ${words}`}
      </span>
    ) : null;
  return (
    <label class="mark">
      <input
        type="checkbox"
        aria-label={sentenceCase(cell.description)}
        checked={has}
        disabled={!cell.held && !has}
        title={cell.held ? undefined : 'You can grant only permissions that you have.'}
        onChange={(event) => onChange(cell.name, event.currentTarget.checked)}
      />
      {named && words}
    </label>
  );
}

function MatrixRow({ row, ...matrix }: MatrixProps & { row: Row }) {
  const others = row.cells.filter(({ action }) => !commonActions.includes(action));
  return (
    <tr>
      <th scope="row">{row.label}</th>
      {commonActions.map((action) => {
        const cell = row.cells.find((one) => one.action === action);
        return <td key={action}>{cell !== undefined && <Mark {...matrix} cell={cell} />}</td>;
      })}
      <td>
        <div class="row">
          {others.map((cell) => (
            <Mark key={cell.name} {...matrix} cell={cell} named />
          ))}
        </div>
      </td>
    </tr>
  );
}

export function PermissionMatrix(matrix: MatrixProps) {
  return (
    // A region that scrolls must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="table-scroll matrix" aria-label="Permissions" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Permission for</th>
            {commonActions.map((action) => (
              <th key={action} scope="col">
                {sentenceCase(action)}
              </th>
            ))}
            <th scope="col">More</th>
          </tr>
        </thead>
        {toGroups(matrix.permissions).map(([title, rows]) => (
          <tbody key={title}>
            <tr class="group">
              <th scope="rowgroup" colSpan={commonActions.length + 2}>
                {title}
              </th>
            </tr>
            {rows.map((row) => (
              <MatrixRow key={row.resource} row={row} {...matrix} />
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}
