// The rows of COPY as they come over the connection, and what the writers of both formats make of them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyOut, createCopyDataParser } from '../../../src/db/driver/copy-out.ts';
import type { RowWriter } from '../../../src/public/export/copy-rows.ts';
import { createCsvWriter } from '../../../src/public/export/csv.ts';
import { copyStatement } from '../../../src/public/export/export-sql.ts';
import { createJsonLinesWriter } from '../../../src/public/export/json-lines.ts';
import { planList } from '../../../src/public/read/plan/plan.ts';
import { useStarted } from '../../setup/use-started.ts';
import { compileInvoices } from '../compiled.ts';
import { openSite } from '../fixture.ts';

/** What a writer that works by bytes could misread. */
const nasty = [
  '\\N',
  '\\',
  '"',
  ',',
  '\t',
  '\n',
  '\r\n',
  '\v\f\b',
  '\u0001\u001f\u007f',
  '\u2028\ufeffé😀',
  "'=1",
];

const site = useStarted(() => {
  const rows = nasty.map((text, index) => ({
    ...{ id: index + 1, tranid: `~${text}`, status: index % 2 === 0 ? null : text, total: '1.500' },
    lines: JSON.stringify([{ item: text, quantity: index / 2 }, { 'item.name': text }]),
  }));
  return openSite({ rows });
});

function written(writer: RowWriter, given: readonly Uint8Array[]): string {
  const texts = [writer.head.toString()];
  for (const piece of given) for (const made of writer.write(piece)) texts.push(made.toString());
  return texts.join('');
}

describe('a row writer', () => {
  it('writes the same wherever its input is cut', async () => {
    const { text, columns } = copyStatement(
      site,
      planList(compileInvoices().whole, new Map(), { paged: false }),
    );
    const client = await site.ctx.db.exports.connect();
    await client.query('begin');
    const { pieces: given, rowCount } = copyOut(client, text);
    const chunks: Buffer[] = [];
    for await (const chunk of given) chunks.push(Buffer.from(chunk));
    await client.query('commit');
    client.release();
    expect(rowCount()).toBe(nasty.length);
    const bytes = Buffer.concat(chunks);
    for (const open of [
      () => createJsonLinesWriter(columns),
      () => createCsvWriter(columns, { guardFormulas: true }),
    ]) {
      const whole = written(open(), [bytes]);
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      expect(written(open(), single)).toBe(whole);
      for (let at = 0; at <= bytes.length; at += 1)
        expect(written(open(), [bytes.subarray(0, at), bytes.subarray(at)])).toBe(whole);
    }
  });

  it('grows for rows larger than a chunk, also when each byte becomes six', () => {
    const columns = [{ name: 'id', kind: 'text' as const }];
    const [long, short] = ['\u0001"\u000b'.repeat(70_000), 'x'];
    const given = [long, short, long].map((text) => `${text.replaceAll('\v', '\\v')}\n`).join('');
    const lines = [long, short, long].map((text) => `${JSON.stringify({ id: text })}\n`).join('');
    const pieces = Array.from({ length: Math.ceil(given.length / 60_000) }, (_, at) =>
      Buffer.from(given.slice(at * 60_000, (at + 1) * 60_000)),
    );
    expect(written(createJsonLinesWriter(columns), pieces) === lines).toBe(true);
    const fields = [long, short, long].map((text) =>
      text === short ? text : `"${text.replaceAll('"', '""')}"`,
    );
    expect(written(createCsvWriter(columns), pieces) === ['id', ...fields, ''].join('\r\n')).toBe(true);
  });

  it('guards against spreadsheet formulas when asked to, and leaves numbers, dates and nulls unchanged', () => {
    const columns = (['text', 'number', 'date', 'json', 'digits'] as const).map((kind) => ({
      name: `-${kind}`,
      kind,
    }));
    const row = (text: string) => Buffer.from(`${text}\t-1.50\t2026-01-31\t[]\t-7\n`);
    const guarded = (text: string) =>
      written(createCsvWriter(columns, { guardFormulas: true }), [row(text)]).split('\r\n')[1];
    const rest = ',-1.50,2026-01-31,[],-7';
    const cases = [
      ['=1+1', "'=1+1"],
      ['+1', "'+1"],
      ['-1', "'-1"],
      ['@x', "'@x"],
      ['\\t=1', "'\t=1"],
      ['a=1', 'a=1'],
      ['\\N', ''],
      ['', '""'],
      ['=A1,"x"', `"'=A1,""x"""`],
    ];
    for (const [given = '', meant] of cases) expect(guarded(given)).toBe(`${meant}${rest}`);
    expect(written(createCsvWriter(columns, { guardFormulas: true }), [row('\\r=1')])).toContain(
      `"'\r=1"${rest}`,
    );
    // Invisible characters before the sign, and its full-width forms.
    const unseen = Array.from({ length: 0x10ffff }, (_, at) => at + 1)
      .filter((point) => point < 0xd800 || point > 0xdfff)
      .map((point) => String.fromCodePoint(point))
      .filter((sign) => /[\s\p{Cc}\p{Cf}\p{Z}]/u.test(sign));
    const inCopy = (text: string) =>
      text.replaceAll(
        /[\b\t\n\v\f\r]/g,
        (sign) => `\\${{ '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' }[sign]}`,
      );
    const bare = (text: string) => guarded(inCopy(text))?.replace(rest, '').replaceAll('"', '');
    const wide = ['\uff1d1', '\uff0b1', '\uff0d1', '\uff20x', '\u3000\uff1d1'];
    const formulas = [...unseen.flatMap((sign) => [`${sign}=1`, ` ${sign}\u200b@x`]), ...wide];
    const passed = formulas.filter((text) => !text.includes('\n') && bare(text) !== `'${text}`);
    expect([passed, written(createCsvWriter(columns, { guardFormulas: true }), [row('\\n=1')])]).toEqual([
      [],
      expect.stringContaining(`"'\n=1"`),
    ]);
    for (const text of [' a=1', '\u3042=1', '\u00e9-1', '\uff0c=', '\u200b', '\\\\=1'])
      expect(guarded(text)).not.toContain("'");
    expect(written(createCsvWriter(columns), [row('=1+1')])).toBe(
      `-text,-number,-date,-json,-digits\r\n=1+1${rest}\r\n`,
    );
    expect(createCsvWriter(columns, { guardFormulas: true }).head.toString()).toBe(
      "'-text,'-number,'-date,'-json,'-digits\r\n",
    );
  });
});

describe('the rows of a COPY', () => {
  it('are found in the messages of the connection, wherever those are cut', () => {
    const message = (letter: string, body: string) => {
      const header = Buffer.from(`${letter}....`);
      header.writeUInt32BE(4 + Buffer.byteLength(body), 1);
      return Buffer.concat([header, Buffer.from(body)]);
    };
    const row = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('d', 'd', 'N', 'S'), row), { maxLength: 8 }),
        fc.array(fc.nat({ max: 120 })),
        (sent, cuts) => {
          const end = Buffer.concat([message('c', ''), message('C', 'COPY 1\0')]);
          const all = Buffer.concat([
            message('H', '\0\0\0'),
            ...sent.map(([letter, body]) => message(letter, body)),
            end,
          ]);
          const { take } = createCopyDataParser();
          const within = cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b);
          const edges = [0, ...within, all.length];
          let payload = '';
          let rest: Buffer[] = [];
          for (const [index, edge] of edges.slice(1).entries()) {
            const piece = Buffer.from(all.subarray(edges[index], edge));
            if (rest.length > 0) rest.push(piece);
            else {
              const taken = take(piece);
              payload += taken.payload.toString('latin1');
              if (taken.rest !== undefined) rest = [taken.rest];
            }
          }
          const data = sent.filter(([letter]) => letter === 'd').map(([, body]) => body);
          expect(payload).toBe(Buffer.from(data.join('')).toString('latin1'));
          expect(Buffer.concat(rest)).toEqual(end);
        },
      ),
    );
  });
});
