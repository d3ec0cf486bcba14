import { describe, expect, it } from 'vitest';
import { Parameter, sql, sqlText, tableOf } from '../../src/warehouse/sql.ts';

describe('sql', () => {
  it('numbers values in the order of their use, and has none of them in its text', () => {
    const { text, values } = sql`select ${'a'}, ${null} from t where b = any(${[1, 2]})`;
    expect(text).toBe('select $1, $2 from t where b = any($3)');
    expect(values).toEqual(['a', null, [1, 2]]);
  });

  it('has one parameter for a value or a part that is used twice', () => {
    const run = new Parameter('r');
    const started = sql`(select ${run}, ${1})`;
    const { text, values } = sql`update t set a = ${started}, b = ${started}, c = ${2} where run = ${run}`;
    expect(text).toBe('update t set a = (select $1, $2), b = (select $1, $2), c = $3 where run = $1');
    expect(values).toEqual(['r', 1, 2]);
  });

  it('never merges equal values: the text is the same for all values', () => {
    expect(sql`select ${1}, ${1}`.text).toBe(sql`select ${1}, ${2}`.text);
  });

  it('quotes the names of tables, and takes other text as SQL', () => {
    expect(sql`select ${sqlText('true')} from ${tableOf('wh_1', 'a"b')}`.text).toBe(
      'select true from "wh_1"."a""b"',
    );
  });
});
