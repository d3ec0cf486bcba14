// Keeps a run from taking values of one type for another: the types by which it reads are compared with the
// ERP's own list of fields, and a text whose type only values name is described again at the value that calls
// it into question.
import { isDeepStrictEqual } from 'node:util';
import {
  type Connector,
  ErpError,
  type FieldMetadata,
  type RecordTypeMetadata,
} from '../../connectors/connector.ts';
import type { SourceRecord } from '../../connectors/source-records.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { describeRecordTypes } from '../account/connection.ts';
import { saveDescriptions } from '../account/record-types.store.ts';

type Reader = {
  readonly ctx: TenantCtx;
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly signal: AbortSignal;
};

/** By this error the next attempt describes the record type again. */
export const typesChanged = (recordType: string): ErpError =>
  new ErpError(
    'query',
    'FIELD_NOT_SYNCABLE',
    `Fields of ${recordType} have other types than when the metadata was read`,
    { fix: 'Run the sync again.' },
  );

/** As `TypeChecks.compare`, for the fields that a configuration selects (null: all). Rejects likewise. */
export async function compareTypes(
  { connector, recordType, signal }: Omit<Reader, 'ctx'>,
  configured: readonly string[] | null,
): Promise<'same' | 'changed' | 'unknown'> {
  if (connector.types === undefined) return 'same';
  const fields = recordType.fields.filter(({ name }) => configured === null || configured.includes(name));
  const compared = await connector.types.compare({ ...recordType, fields }, signal);
  signal.throwIfAborted();
  return compared;
}

/** By name: their order depends on which values the first records have. */
const toTypes = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): Record<string, unknown> =>
  Object.fromEntries(
    fields.map(({ name, type, syncable, fields: ofLines }) => [
      name,
      [type, syncable, ofLines && toTypes({ fields: ofLines })],
    ]),
  );

/** What was not listed at one of the two times says nothing. */
const haveSameTypes = (one: RecordTypeMetadata, other: RecordTypeMetadata): boolean =>
  isDeepStrictEqual(toTypes(one), toTypes(other)) &&
  (one.listedTypes == null ||
    other.listedTypes == null ||
    isDeepStrictEqual(one.listedTypes, other.listedTypes));

/**
 * Describes the record type again. Undefined where the ERP no longer has it. Throws an `ErpError` of stale
 * metadata when it says other types than those that the run reads by, and what the connector throws.
 */
export async function assertSameDescription({
  ctx,
  connector,
  recordType,
  signal,
}: Reader): Promise<RecordTypeMetadata | undefined> {
  const [current] = await describeRecordTypes(ctx, connector, [recordType.name], signal);
  signal.throwIfAborted();
  if (current !== undefined && !haveSameTypes(current, recordType)) throw typesChanged(recordType.name);
  return current;
}

type Watched = Pick<FieldMetadata, 'name' | 'unconfirmed'> & { readonly ofLines: boolean };

const listUnconfirmed = ({ fields }: Pick<RecordTypeMetadata, 'fields'>, ofLines = false): Watched[] =>
  fields.flatMap(({ name, unconfirmed, syncable, fields: inner }): Watched[] => {
    if (!syncable) return [];
    return [
      ...(unconfirmed === undefined ? [] : [{ name, unconfirmed, ofLines }]),
      ...(inner ? listUnconfirmed({ fields: inner }, true) : []),
    ];
  });

/** The record type with these doubtful fields confirmed: the ERP says that they are texts. */
const withConfirmed = (recordType: RecordTypeMetadata, confirmed: readonly Watched[]): RecordTypeMetadata => {
  const confirm = (field: FieldMetadata, ofLines: boolean): FieldMetadata => {
    const { unconfirmed, ...rest } = field;
    const isConfirmed =
      unconfirmed === 'values' && confirmed.some((one) => one.name === field.name && one.ofLines === ofLines);
    return {
      ...(isConfirmed ? rest : field),
      ...(field.fields && { fields: field.fields.map((inner) => confirm(inner, true)) }),
    };
  };
  return { ...recordType, fields: recordType.fields.map((field) => confirm(field, false)) };
};

const listValues = ({ name, ofLines }: Watched, { values, lines }: SourceRecord): string[] =>
  (ofLines ? (lines ?? []) : [values]).flatMap(({ [name]: value = null }) => value ?? []);

/**
 * Creates a check of records before they are staged. At the first value of a text that had none, and at a
 * text that may be a value of another type, the record type is described again. Where the latter is a text,
 * the check doesn't ask again about it while that description is stored. The check throws an `ErpError` of
 * stale metadata when the types are others, and what the connector throws.
 */
export function createTypeWatch(reader: Reader): (records: readonly SourceRecord[]) => Promise<void> {
  const { ctx, connector, recordType } = reader;
  const { types } = connector;
  if (types === undefined) return async () => undefined;
  let watched = listUnconfirmed(recordType);
  return async (records) => {
    const hasValue = (field: Watched, isMeant: (text: string) => boolean): boolean =>
      records.some((record) => listValues(field, record).some(isMeant));
    const filled = watched.filter((field) => field.unconfirmed === 'empty' && hasValue(field, () => true));
    const doubtful = watched.filter((field) => hasValue(field, types.isDoubtful));
    if (filled.length + doubtful.length === 0) return;
    const current = await assertSameDescription(reader);
    const now = current === undefined ? [] : listUnconfirmed(current);
    // The ERP no longer has, or doesn't show yet, what was read.
    if (current === undefined || filled.some((field) => now.some((one) => isDeepStrictEqual(one, field))))
      throw typesChanged(recordType.name);
    const described = withConfirmed(current, doubtful);
    await saveDescriptions(ctx, [described]);
    watched = listUnconfirmed(described);
  };
}
