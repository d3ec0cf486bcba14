// What a lasting fault is, and what several of them need.
import type { Stage } from '../actions.ts';
import { getTable } from '../books.ts';
import type { RecordTypeName } from '../plan-names.ts';
import type { Random } from '../random.ts';
import type { Exchange } from '../wire.ts';

export type Ending = () => Promise<void>;
export type FaultStage = Stage & {
  /** Calls `look` after each change of the account, until the returned function is called. */
  watchChanges(look: () => Promise<void>): () => void;
};
export type FaultDefinition = {
  /**
   * Draws its details from `random`, starts, and returns how to end it. `hit` is called whenever it met a
   * request or work in progress.
   */
  begin(stage: FaultStage, recordType: RecordTypeName, random: Random, hit: () => void): Promise<Ending>;
};

/** Does nothing, for a fault that finds nothing to meet. */
export const noEnding: Ending = async () => undefined;

export const findLinesTable = (
  recordType: RecordTypeName,
): 'transactionline' | 'nexttransactionlinelink' | null =>
  recordType === 'customerPayment'
    ? 'nexttransactionlinelink'
    : getTable(recordType) === 'transaction'
      ? 'transactionline'
      : null;

/** The synced record types that are read from this table, as header or as lines. */
export const listReaders = ({ plan }: Stage, table: string): RecordTypeName[] =>
  plan.recordTypes.filter(
    (recordType) => getTable(recordType) === table || findLinesTable(recordType) === table,
  );

/** Ends all of them, in reverse order. */
export const inTurn =
  (...endings: (Ending | (() => void))[]): Ending =>
  async () => {
    for (const end of endings.toReversed()) await end();
  };

/** Calls `hit` for each response that `isMet`. */
export const countOnWire = (
  { fixture }: Stage,
  isMet: (exchange: Exchange) => boolean,
  hit: () => void,
): (() => void) =>
  fixture.wire.watch((exchange) => {
    if (isMet(exchange)) hit();
  });

/**
 * A person reads the metadata again, which must not hold up the requests that the action stands between; the
 * ending waits for the answer, which may be a refusal.
 */
export function readMetadata({ company }: Stage): Ending {
  const asked = company.api('post', '/netsuite/metadata/refresh').catch(() => undefined); // the database may be away
  return async () => {
    await asked;
  };
}

const toTablePattern = (table: string): RegExp => new RegExp(`\\b(FROM|JOIN) ${table}\\b`);
/** Whether a query reads the table, or an error response names it. */
export const reads =
  (table: string) =>
  ({ question }: Exchange): boolean =>
    toTablePattern(table).test(question);
