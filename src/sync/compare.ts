// Whether a record as the ERP shows it differs from what is stored of it, value by value in one way of writing. Pure.
import { type RecordTypeMetadata, type ScannedRecord, scannedFields } from '../connectors/connector.ts';
import type { ColumnType, RecordColumn } from '../warehouse/columns.ts';

/** `1.50` and `1.5`, `-0` and `0` are one number. */
function plainNumber(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text) ?? [text, '', text];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return digits === '0' ? '0' : `${sign}${digits}`;
}

export function canonical(text: string | null, type: ColumnType): string | null {
  if (text === null) return null;
  return type === 'number' || type === 'integer' ? plainNumber(text) : text;
}

/**
 * The header fields that a scan asks for: those that change behind the modification time's back, and that time itself. Where the
 * configuration leaves that time out, every header field stands in for it.
 */
export function fieldsToScan(recordType: RecordTypeMetadata, wanted: readonly string[]): string[] {
  const { modifiedField } = recordType;
  const names = new Set(wanted);
  if (modifiedField !== null && names.has(modifiedField)) {
    const behind = scannedFields(recordType).map(({ name }) => name);
    return [...behind.filter((name) => names.has(name)), modifiedField];
  }
  return recordType.fields.filter(({ name, type }) => names.has(name) && type !== 'lines').map(({ name }) => name);
}

export const columnsToCompare = (columns: readonly RecordColumn[], fields: readonly string[]): RecordColumn[] =>
  columns.filter(({ field, part, state }) => part !== 'lines' && state !== 'replaced' && fields.includes(field));

export const differs = (record: ScannedRecord, columns: readonly RecordColumn[], cells: readonly (string | null)[]): boolean =>
  columns.some(({ field, part, type }, index) => {
    const theirs = (part === 'label' ? record.labels[field] : record.values[field]) ?? null;
    return canonical(theirs, type) !== canonical(cells[index] ?? null, type);
  });
