// A list as a workbook: a worksheet of its records and one for each field that holds lines, read one after the
// other from the same snapshot.
import { AppError } from '../../core/errors.ts';
import type { ListPlan } from '../read/plan/plan.ts';
import { parameterProblem } from '../read/plan/request.ts';
import type { TableRef } from '../read/sql/list-sql.ts';
import type { LinesField } from '../version/compile.ts';
import { type CopiedRows, type CopyOptions, startCopy } from './copy-lines.ts';
import { type CopyStatement, copyLinesStatement, copyStatement, countLinesStatement } from './export-sql.ts';
import { createSheetWriter, maxSheetRows } from './sheet.ts';
import type { Snapshot } from './snapshot.ts';
import { sheetNames, streamWorkbook } from './workbook.ts';

function tooManyRows(what: string, count: number): AppError {
  const message = `The list has ${count} ${what}, and a worksheet holds ${maxSheetRows - 1}. Add filters, or export CSV or NDJSON.`;
  return new AppError('BAD_REQUEST', message, {
    details: [parameterProblem('format', 'too_many_rows', message)],
  });
}

async function countLines({ client, table }: Snapshot, plan: ListPlan, field: LinesField): Promise<number> {
  const { text, values } = countLinesStatement(table, plan, field);
  const { rows } = await client.query<{ total: string }>(text, [...values]);
  return Number(rows[0]?.total);
}

type SheetPlan = {
  readonly name: string;
  readonly total: number;
  readonly write: (table: TableRef) => CopyStatement;
};

async function planSheets(snapshot: Snapshot, plan: ListPlan, total: number): Promise<SheetPlan[]> {
  if (total >= maxSheetRows) throw tooManyRows('records', total);
  const linesFields = plan.fields.filter((field): field is LinesField => field.kind === 'lines');
  const fields = plan.fields.filter(({ kind }) => kind !== 'lines');
  const sheets = [
    {
      name: plan.endpoint.name,
      total,
      write: (table: TableRef) => copyStatement(table, { ...plan, fields }, 'csv'),
    },
  ];
  for (const field of linesFields) {
    const lines = await countLines(snapshot, plan, field);
    if (lines >= maxSheetRows) throw tooManyRows(`lines in "${field.name}"`, lines);
    sheets.push({
      name: field.name,
      total: lines,
      write: (table) => copyLinesStatement(table, plan, field),
    });
  }
  return sheets;
}

/** As `startCopy`. Rejects with 400 `too_many_rows` when records or lines don't fit in a worksheet. */
export async function startWorkbook(
  snapshot: Snapshot,
  plan: ListPlan,
  total: number,
  options: Pick<CopyOptions, 'signal' | 'yieldToReads'>,
): Promise<CopiedRows> {
  const sheets = await planSheets(snapshot, plan, total);
  const names = sheetNames(sheets.map(({ name }) => name));
  const copies: CopiedRows[] = [];
  const start = async (index: number): Promise<void> => {
    const sheet = sheets[index];
    if (sheet === undefined || copies[index] !== undefined) return;
    const isLast = index === sheets.length - 1;
    copies.push(await startCopy(snapshot, { ...options, ...sheet, isLast, createWriter: createSheetWriter }));
  };
  await start(0);
  return {
    bytesTaken: () => copies.reduce((sum, copy) => sum + copy.bytesTaken(), 0),
    failure: () => copies.map((copy) => copy.failure()).find((failure) => failure !== undefined),
    async *read() {
      yield* streamWorkbook(
        names.map((name, index) => ({
          name,
          async *open() {
            await start(index);
            const copy = copies[index];
            if (copy !== undefined) yield* copy.read();
          },
        })),
      );
    },
  };
}
