// An XLSX file as a stream: a ZIP archive (yazl) whose worksheets are written while their rows arrive, in
// constant memory. Equal rows make equal bytes.
import { Readable } from 'node:stream';
import yazl from 'yazl';
import { gzipLevel } from '../http/response.ts';
import { sheetEnd, styles } from './sheet.ts';

/** `open` starts the worksheet: what a sheet writer makes of its rows, but for its end. */
export type Sheet = { readonly name: string; readonly open: () => AsyncIterable<Uint8Array> };

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const maxNameLength = 31;
/** Names of worksheets: at most 31 characters, none of `[]:*?/\`, and different whatever their case. */
export function sheetNames(wanted: readonly string[]): string[] {
  const taken = new Set<string>();
  return wanted.map((name) => {
    const legal = name.replaceAll(/[[\]:*?/\\<>&"']/g, ' ').slice(0, maxNameLength) || 'Sheet';
    for (let number = 1; ; number += 1) {
      const end = number === 1 ? '' : ` ${number}`;
      const candidate = legal.slice(0, maxNameLength - end.length) + end;
      if (taken.has(candidate.toLowerCase())) continue;
      taken.add(candidate.toLowerCase());
      return candidate;
    }
  });
}

const parts = (names: readonly string[]): [path: string, text: string][] => [
  [
    '[Content_Types].xml',
    `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${contentType}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${contentType}.styles+xml"/>${names.map((_, index) => `<Override PartName="/xl/worksheets/sheet${index + 1}.xml" ContentType="${contentType}.worksheet+xml"/>`).join('')}</Types>`,
  ],
  [
    '_rels/.rels',
    `<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  ],
  [
    'xl/workbook.xml',
    `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets>${names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`).join('')}</sheets></workbook>`,
  ],
  [
    'xl/_rels/workbook.xml.rels',
    `<Relationships xmlns="${packageRelations}">${names.map((_, index) => `<Relationship Id="rId${index + 1}" Type="${relations}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`).join('')}<Relationship Id="rId${names.length + 1}" Type="${relations}/styles" Target="styles.xml"/></Relationships>`,
  ],
];

/** The time of all entries: that of the data is in the response's headers. */
const entryOptions = {
  mtime: new Date(2000, 0, 1),
  mode: 0o100644,
  forceDosTimestamp: true,
  compressionLevel: gzipLevel,
};

async function* whole({ open }: Sheet): AsyncGenerator<Buffer> {
  // The writer reuses its buffer, and compression reads it later.
  for await (const chunk of open()) yield Buffer.from(chunk);
  yield Buffer.from(sheetEnd);
}

/** The names must come from `sheetNames`. The stream fails with the error of the sheet that fails. */
export function streamWorkbook(sheets: readonly Sheet[]): Readable {
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  const texts = parts(sheets.map(({ name }) => name)).map(([path, text]): [string, string] => [
    path,
    head + text,
  ]);
  for (const [path, text] of [...texts, ['xl/styles.xml', styles] as const])
    zip.addBuffer(Buffer.from(text), path, entryOptions);
  for (const [index, sheet] of sheets.entries())
    zip.addReadStreamLazy(`xl/worksheets/sheet${index + 1}.xml`, entryOptions, (callback) =>
      callback(null, Readable.from(whole(sheet), { objectMode: false })),
    );
  zip.end();
  return output;
}
