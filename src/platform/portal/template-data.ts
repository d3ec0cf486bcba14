// Variables that templates can use: a record, and what subscription mails say of a view. Pure.
import { recordCell, type ViewTable } from '../views/view-table.ts';

type Values = Readonly<Record<string, unknown>>;
const labelSuffix = /\.name$/;

/**
 * A record as templates see it: `record` has its values by field, `labels` the ERP's names of references and
 * list values, by the same keys.
 */
export function splitLabels(values: Values): { readonly record: Values; readonly labels: Values } {
  const all = Object.entries(values);
  return {
    record: Object.fromEntries(all.filter(([source]) => !labelSuffix.test(source))),
    labels: Object.fromEntries(
      all
        .filter(([source]) => labelSuffix.test(source))
        .map(([source, value]) => [source.replace(labelSuffix, ''), value]),
    ),
  };
}

type ViewContext = {
  readonly viewName: string;
  readonly organizationName: string;
  readonly timezone: string;
};

/** The variables of a subscription mail for this view. */
export function templateData(
  view: ViewTable,
  { viewName, timezone, organizationName }: ViewContext,
): Readonly<Record<string, unknown>> {
  const rows = view.records.map((record) => ({
    ...splitLabels(record),
    cells: view.columns.map((column) => recordCell(record, column, timezone)),
  }));
  return {
    view: { name: viewName },
    organization: { name: organizationName },
    columns: view.columns.map(({ name, label }) => ({ source: name, label })),
    rows,
    total: view.total,
    syncedAt: view.syncedAt,
    problems: view.problems,
  };
}
