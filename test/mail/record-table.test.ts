// Records in a mail: as a table or stacked, and how many of them fit into a mail.
import { describe, expect, it } from 'vitest';
import { countRowsThatFit, layoutMail, type RecordTable, withSmallPrint } from '../../src/mail/index.ts';

const columns = (count: number): RecordTable['columns'] =>
  Array.from({ length: count }, (_, index) => ({ label: `Column <${index}>`, numeric: index === 1 }));
const createTable = (count: number, rows: RecordTable['rows']): RecordTable => ({
  columns: columns(count),
  rows,
});
const lay = (table: RecordTable) => layoutMail({ title: 'Records', paragraphs: [], table });

describe('records in a mail', () => {
  it('are a table of up to six columns, and one value per line beyond', () => {
    const [few, many] = [lay(createTable(6, [['a', '-1.50']])), lay(createTable(7, [['a', '-1.50']]))];
    expect(few.html).toContain('<th scope="col"');
    expect(few.html).toMatch(/text-align:right[^>]*><span[^>]*>Column &lt;1&gt;<\/span>-1\.50<\/td>/);
    expect(many.html).not.toContain('<th');
    expect(many.html).toMatch(/Column &lt;1&gt;:<\/span> -1\.50<br>/);
    expect(few.html + many.html).not.toContain('Column <');
  });

  it('are aligned columns in the text if they fit a line, numbers to the right, otherwise one value per line', () => {
    expect(
      lay(
        createTable(2, [
          ['a', '1.00'],
          ['long', '-15.30'],
        ]),
      ).text,
    ).toContain(
      [
        'Column <0>  Column <1>',
        '----------  ----------',
        'a                 1.00',
        'long            -15.30',
      ].join('\n'),
    );
    expect(
      lay(
        createTable(2, [
          ['x'.repeat(80), '1.00'],
          ['', '2.00'],
        ]),
      ).text,
    ).toContain(`Column <0>: ${'x'.repeat(80)}\nColumn <1>: 1.00\n\nColumn <0>:\nColumn <1>: 2.00\n`);
  });

  it('are as many as a mail client shows without clipping the mail', () => {
    const rows = Array.from({ length: 50 }, () => Array.from({ length: 20 }, () => 'é'.repeat(300)));
    const fitting = countRowsThatFit(createTable(20, rows));
    expect(fitting).toBeGreaterThan(2);
    expect(fitting).toBeLessThan(10);
    expect(Buffer.byteLength(lay(createTable(20, rows.slice(0, fitting))).html)).toBeLessThan(100_000);
    expect(countRowsThatFit(createTable(2, rows.slice(0, 3)))).toBe(3);
  });

  it('in HTML of another author are followed by our small print, inside its body', () => {
    const print = {
      notes: ['Why & how'],
      smallLink: { label: 'Unsubscribe', url: 'https://x.test/?a=1&b="2"' },
    };
    expect(withSmallPrint('<p>Hi</p>', print)).toMatch(
      /^<p>Hi<\/p>\n<hr[\s\S]*Why &amp; how[\s\S]*href="https:\/\/x\.test\/\?a=1&amp;b=&quot;2&quot;"/,
    );
    // Some letters are longer in lower case, which shifts every position behind them.
    expect(withSmallPrint(`<body>${'\u0130'.repeat(9)}</body>`, print)).toMatch(
      /\u0130<hr[\s\S]*Unsubscribe<\/a><\/p>\n<\/body>$/,
    );
    expect(withSmallPrint('<html><BODY>Hi</BODY></html>', print)).toMatch(
      /Hi<hr[\s\S]*Unsubscribe<\/a><\/p>\n<\/BODY><\/html>$/,
    );
  });
});
