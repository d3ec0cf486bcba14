// Which fields count as unreadable: shown by a version, selected by the configuration, and not offered by the
// ERP.
import { describe, expect, it } from 'vitest';
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import { findUnreadable } from '../../src/sync/fields/find-unreadable.ts';
import { planColumns } from '../../src/warehouse/columns.ts';
import type { AcceptedField, ShownColumn } from '../../src/warehouse/record-state.ts';
import { field } from './fixture.ts';

const full: FieldMetadata[] = [
  field('name'),
  field('owner', 'reference'),
  field('lines', 'lines', [field('item', 'reference'), field('rate', 'number')]),
];
const columns = planColumns([], full).added;
const find = (
  fields: readonly FieldMetadata[],
  shown: readonly ShownColumn[] | null,
  {
    accepted = {},
    configured = null,
  }: { accepted?: Record<string, AcceptedField>; configured?: readonly string[] | null } = {},
) =>
  findUnreadable({ fields }, configured, columns, {
    shownColumns: shown === null ? null : { v1: shown },
    acceptedFields: accepted,
  });
const without = (...names: string[]) => full.filter(({ name }) => !names.includes(name));
const at = '2026-11-22T10:00:00Z';
const withLines = (...inner: FieldMetadata[]) => [...without('lines'), field('lines', 'lines', inner)];
const item = field('item', 'reference');

describe('findUnreadable', () => {
  it('finds nothing while everything is offered', () => {
    expect(find(full, [{ column: 'f_name' }, { column: 'f_lines' }])).toEqual({ stale: {}, readable: [] });
  });

  it('finds shown fields only, and none while it is not known what versions show', () => {
    expect(Object.keys(find(without('name', 'owner'), [{ column: 'f_name' }]).stale)).toEqual(['name']);
    expect(find(without('name'), null).stale).toEqual({});
  });

  it('gives the reason of the ERP', () => {
    const hidden = [{ ...field('name'), syncable: false, reason: 'not for this role' }, ...without('name')];
    expect(find(hidden, [{ column: 'f_name' }]).stale).toEqual({
      name: { reason: 'unreadable', message: 'The ERP does not offer name: not for this role' },
    });
  });

  it('leaves out what the configuration does not select', () => {
    expect(find(without('name'), [{ column: 'f_name' }], { configured: ['owner'] }).stale).toEqual({});
  });

  it('a field of lines counts only if a version shows it; without a list, versions show all', () => {
    expect(find(withLines(item), [{ column: 'f_lines', lineFields: ['item'] }]).stale).toEqual({});
    for (const shown of [{ column: 'f_lines' }, { column: 'f_lines', lineFields: ['item.name', 'rate'] }])
      expect(find(withLines(item), [shown]).stale).toEqual({
        lines: { reason: 'unreadable', message: 'The ERP no longer offers lines.rate', lineFields: ['rate'] },
      });
  });

  it('a display text that the ERP no longer has', () => {
    for (const type of ['text', 'integer', 'date'] as const) {
      const plain = [...without('owner'), field('owner', type)];
      expect(Object.keys(find(plain, [{ column: 'l_owner' }]).stale)).toEqual(['owner']);
      expect(find(plain, [{ column: 'f_owner' }]).stale).toEqual({});
    }
  });

  it('an accepted field is not stale, and its acceptance ends when it is offered again', () => {
    const accepted = { name: { at, reason: 'unreadable' as const } };
    expect(find(without('name'), [{ column: 'f_name' }], { accepted })).toEqual({ stale: {}, readable: [] });
    expect(find(full, [{ column: 'f_name' }], { accepted })).toEqual({ stale: {}, readable: ['name'] });
  });

  it('an acceptance of a field of lines covers no other field, nor the lines', () => {
    const accepted = { lines: { at, reason: 'unreadable' as const, lineFields: ['rate'] } };
    const shown = [{ column: 'f_lines', lineFields: ['item', 'rate'] }];
    expect(find(withLines(item), shown, { accepted })).toEqual({ stale: {}, readable: [] });
    expect(find(withLines(), shown, { accepted }).stale).toMatchObject({ lines: { lineFields: ['item'] } });
    expect(Object.keys(find(without('lines'), shown, { accepted }).stale)).toEqual(['lines']);
    expect(find(full, shown, { accepted })).toEqual({ stale: {}, readable: ['lines'] });
  });

  it('an acceptance of empty values is none of an unreadable field', () => {
    const accepted = { name: { at, reason: 'empty' as const } };
    const { stale } = find(without('name'), [{ column: 'f_name' }], { accepted });
    expect(Object.keys(stale)).toEqual(['name']);
  });
});
