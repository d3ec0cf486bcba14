// PUT /faults: the shape of a fault, and whether it can meet any answer.
import { z } from 'zod';
import {
  type AnswerFault,
  EFFECTS,
  FAULT_KINDS,
  FAULT_STATUSES,
  findEffect,
  possibleKinds,
  type ColumnValues as Values,
} from '../answer-faults/answer-fault.ts';
import { parseColumnValue, VALUE_HINTS } from '../tables/column-value.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { getIdColumn } from '../tables/table.ts';
import { type ErrorDetail, invalid } from './control-error.ts';

const MAX_DELAY_MS = 3_600_000;
const Scalar = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  'must be a text, a number, true, false or null',
);

const ColumnValues = z.record(z.string(), Scalar);
const Every = z.int().min(1);

const Fault = z.strictObject({
  on: z.strictObject({ table: z.string().optional(), kind: z.literal(FAULT_KINDS).optional() }),
  times: z.int().min(1).optional(),
  status: z.literal(FAULT_STATUSES).optional(),
  html: z.literal(true).optional(),
  cut: z.int().min(0).optional(),
  repeatPage: z.literal(true).optional(),
  stalePage: z.literal(true).optional(),
  countOffset: z.int().optional(),
  hasMore: z.literal(false).optional(),
  dropRows: z.strictObject({ where: ColumnValues.optional(), every: Every.optional() }).optional(),
  nullColumn: z
    .union([
      z.string(),
      z.strictObject({ column: z.string(), where: ColumnValues.optional(), every: Every.optional() }),
    ])
    .optional(),
  duplicateRow: z.literal(true).optional(),
  delayMs: z.int().min(0).max(MAX_DELAY_MS).optional(),
});
export const FaultsBody = z.array(Fault).max(100);

/** Throws ControlError 422 unless each fault has exactly one effect and can meet an answer. */
export function checkFaults(role: RoleVisibility, given: z.output<typeof FaultsBody>): AnswerFault[] {
  // Optional members are absent, never undefined: they come from JSON.
  const faults = given as AnswerFault[];
  const problems = faults.flatMap((fault, i) =>
    listProblems(role, fault).map(({ path, message }) => ({
      path: `[${i}]${path === '' ? '' : `.${path}`}`,
      message,
    })),
  );
  if (problems.length > 0) throw invalid(...problems);
  return faults;
}

function listProblems(role: RoleVisibility, fault: AnswerFault): ErrorDetail[] {
  const effects = EFFECTS.filter((effect) => fault[effect] !== undefined);
  if (effects.length !== 1) {
    const has = effects.length === 0 ? 'has none' : `has ${effects.join(' and ')}`;
    return [
      {
        path: '',
        message: `must have exactly one of ${EFFECTS.join(', ')}; it ${has}. Put a second fault for a second effect`,
      },
    ];
  }
  for (const effect of ['dropRows', 'nullColumn'] as const) {
    const given = fault[effect];
    if (typeof given === 'object' && (given.where === undefined) === (given.every === undefined)) {
      return [{ path: effect, message: 'must have either "where" or "every"' }];
    }
  }
  return [...subjectProblems(role, fault), ...columnProblems(role, fault)];
}

function subjectProblems(role: RoleVisibility, fault: AnswerFault): ErrorDetail[] {
  const { table, kind } = fault.on;
  const problems: ErrorDetail[] = [];
  const kinds = possibleKinds(fault);
  if (table !== undefined && !role.known(table))
    problems.push({ path: 'on.table', message: `is ${table}, which is no table of the account` });
  if (table !== undefined && kind === 'token')
    problems.push({ path: 'on.table', message: 'can’t be set: requests for a token read no table' });
  if (kind !== undefined && kinds && !kinds.includes(kind)) {
    problems.push({
      path: 'on.kind',
      message: `is ${kind}, but ${findEffect(fault)} only concerns ${kinds.join(', ')}`,
    });
  }
  return problems;
}

function columnProblems(role: RoleVisibility, { on, nullColumn, dropRows }: AnswerFault): ErrorDetail[] {
  const table = on.table === undefined ? undefined : role.known(on.table);
  if (!table) return [];
  const find = (name: string) => table.columns.find((column) => column.name === name);
  const unknown = (path: string, name: string) => ({
    path,
    message: `is ${name}, which is no column of ${table.name}`,
  });
  const valueProblems = (path: string, where: Values = {}) =>
    Object.entries(where).flatMap(([name, value]) => {
      const column = find(name);
      if (!column) return [{ path: `${path}.where.${name}`, message: `is no column of ${table.name}` }];
      const isValid = parseColumnValue(column.kind, value) !== undefined;
      return isValid
        ? []
        : [{ path: `${path}.where.${name}`, message: `must be ${VALUE_HINTS[column.kind]}` }];
    });
  const some = typeof nullColumn === 'object' ? nullColumn : undefined;
  const emptied = typeof nullColumn === 'object' ? nullColumn.column : nullColumn;
  return [
    ...(emptied === undefined || find(emptied)
      ? []
      : [unknown(some ? 'nullColumn.column' : 'nullColumn', emptied)]),
    ...(some?.every !== undefined && !find(getIdColumn(table.name))
      ? [{ path: 'nullColumn.every', message: 'needs a table with internal ids' }]
      : []),
    ...valueProblems('dropRows', dropRows?.where),
    ...valueProblems('nullColumn', some?.where),
  ];
}
