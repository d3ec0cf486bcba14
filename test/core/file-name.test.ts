import { describe, expect, it } from 'vitest';
import { safeFileName } from '../../src/core/text/file-name.ts';

describe('a file name', () => {
  it.each([
    ['Unpaid invoices.csv', 'Unpaid invoices.csv'],
    // Letters keep their marks and joiners.
    ['ग्राहक सूची.csv', 'ग्राहक सूची.csv'],
    ['Cafe\u0301 – Zürich.csv', 'Cafe\u0301 - Zürich.csv'],
    ['می\u200cخواهم.csv', 'می\u200cخواهم.csv'],
    ['../../etc/passwd.csv', 'etc-passwd.csv'],
    ['a\u202egpj.exe.csv', 'a-gpj-exe.csv'],
    ['a\u0000b\nc.csv', 'a-b-c.csv'],
    ['con.csv', 'con-file.csv'],
    ['LPT1.csv', 'LPT1-file.csv'],
    ['COM¹.csv', 'COM¹-file.csv'],
    ['console.csv', 'console.csv'],
    ['///.csv', 'records.csv'],
    ['', 'records'],
  ])('of "%s" is "%s"', (name, expected) => expect(safeFileName(name)).toBe(expected));

  it('is cut between letters, within the 255 bytes that file systems allow', () => {
    const name = safeFileName(`${'क्षि'.repeat(100)}.csv`);
    expect(Buffer.byteLength(name)).toBeLessThan(255);
    expect(name).toMatch(/^(?:क्षि)+\.csv$/);
  });
});
