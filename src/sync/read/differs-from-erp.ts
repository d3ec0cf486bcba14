// Decides whether a record in the ERP differs from the stored one: value by value, after both are written in
// one canonical form. Pure.
import { type RecordTypeMetadata, scannedFields } from '../../connectors/connector.ts';
import type { ScannedRecord } from '../../connectors/source-records.ts';
import { type ColumnType, type RecordColumn, sourceValue } from '../../warehouse/columns.ts';

/** `1.50` and `1.5` are the same number, and so are `-0` and `0`. */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text) ?? [
    text,
    '',
    text,
  ];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return digits === '0' ? '0' : `${sign}${digits}`;
}

export function canonicalText(text: string | null, type: ColumnType): string | null {
  if (text === null) return null;
  return type === 'number' || type === 'integer' ? canonicalNumber(text) : text;
}

/**
 * The header fields that a scan requests: the modification time and the fields that can change without it.
 * When the configuration leaves the modification time out, every header field is requested instead.
 */
export function fieldsToScan(recordType: RecordTypeMetadata, wanted: readonly string[]): string[] {
  const { modifiedField } = recordType;
  const names = new Set(wanted);
  if (modifiedField !== null && names.has(modifiedField)) {
    const scanned = scannedFields(recordType).map(({ name }) => name);
    return [...scanned.filter((name) => names.has(name)), modifiedField];
  }
  return recordType.fields
    .filter(({ name, type }) => names.has(name) && type !== 'lines')
    .map(({ name }) => name);
}

/** Without the entries of multiselects: they follow from the value, their names from the display text. */
export const columnsToCompare = (columns: readonly RecordColumn[], fields: readonly string[]) =>
  columns.filter(
    ({ field, part, state }) =>
      (part === 'value' || part === 'label') && state !== 'replaced' && fields.includes(field),
  );

export const differsFromErp = (
  record: ScannedRecord,
  columns: readonly RecordColumn[],
  cells: readonly (string | null)[],
): boolean =>
  columns.some((column, index) => {
    const { type } = column;
    return (
      canonicalText(sourceValue(record, column) ?? null, type) !== canonicalText(cells[index] ?? null, type)
    );
  });
