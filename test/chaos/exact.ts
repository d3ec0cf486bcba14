// Actions that say exactly what happens, for directed histories: an edit of one record through the account's
// control interface, an answer that lies, rows that the role can't see. Seeds don't draw them.
import { getTable } from './books.ts';
import { tell } from './faults/answers.ts';
import type { Control, Lie } from './faults/control.ts';
import { type Ending, type FaultStage, inTurn } from './faults/fault.ts';
import type { Bound } from './oracle/ledger.ts';
import type { RecordTypeName } from './plan-names.ts';

export type Write = {
  readonly do: 'write';
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** As in the account's README: `/records/transaction/1000`, `/fields`, `/books/keep`. */
  readonly path: string;
  readonly body?: object;
};
export type ExactHold = { readonly recordType: RecordTypeName; readonly rounds: number } & (
  | {
      readonly do: 'lie';
      readonly lie: Lie;
      /** What no proof can find, of all records of the type. */
      readonly misreports?: { readonly field: string | null; readonly bound: Bound };
      /** Fields that may be named as stale meanwhile; those of lines as `lines.memo`. */
      readonly names?: readonly string[];
    }
  /** Rows of the record type, or the first `count` of them; or columns of its header. */
  | {
      readonly do: 'hide';
      readonly ids?: readonly string[];
      readonly count?: number;
      readonly columns?: readonly string[];
    }
);
/** A person reads the metadata again. */
export type Refresh = { readonly do: 'refresh' };
export type ExactAction = Write | ExactHold | Refresh;

export const write = (control: Control, { method, path, body }: Write): Promise<unknown> =>
  control.send(method, path, body);

export async function beginExact(stage: FaultStage, action: ExactHold): Promise<Ending> {
  const { books, control } = stage.fixture;
  const { recordType } = action;
  const all = await books.ids(recordType);
  if (action.do === 'hide' && action.columns !== undefined) {
    const fields = action.columns;
    return inTurn(
      stage.ledger.hides({ recordType, fields }),
      await control.hide({ columns: { [getTable(recordType)]: fields } }),
    );
  }
  if (action.do === 'hide') {
    const ids = action.ids ?? all.slice(0, action.count);
    return inTurn(
      stage.ledger.hides({ recordType, ids }),
      await control.hide({ rows: { [getTable(recordType)]: ids } }),
    );
  }
  const { lie, misreports, names } = action;
  const end = [
    ...(misreports === undefined
      ? []
      : [stage.ledger.misreports({ recordType, ids: new Set(all), ...misreports })]),
    ...(names === undefined ? [] : [stage.ledger.hides({ recordType, fields: names })]),
  ];
  return inTurn(...end, await tell(stage, [lie], () => undefined));
}
