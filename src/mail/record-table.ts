// Renders records in a mail, as HTML and as text. Mail clients differ in their support for style sheets, so
// nothing depends on one: few columns become a table, which clients with media queries stack in narrow
// windows, and many columns are always stacked.
import { escapeHtml } from '../core/text/escape-html.ts';
import { font, wrap } from './style.ts';

export type RecordTable = {
  /** `short`: values are not wrapped, as suits dates. */
  readonly columns: readonly {
    readonly label: string;
    readonly numeric: boolean;
    readonly short?: boolean;
  }[];
  /** Display texts, in the order of `columns`; empty where a record has no value. */
  readonly rows: readonly (readonly string[])[];
};

/** A table with more columns is stacked at any width. */
const maxTableColumns = 6;
/** Popular mail clients clip a mail at about 100 kB; the rest of the mail needs a few of them. */
const maxHtmlBytes = 80_000;
const textWidth = 78;

const ink = 'color:#1b2430';
const muted = 'color:#56616f';
const line = 'border-bottom:1px solid #d5dae1';
const cell = `padding:6px 8px 6px 0;${font};font-size:14px;line-height:1.4;vertical-align:top`;

export const recordTableStyles = `
@media (max-width:600px){
.rows,.rows tbody,.rows tr,.rows td{display:block!important;width:auto!important}
.rows thead{display:none!important}
.rows tr{padding:10px 0!important;border-bottom:1px solid #d5dae1!important}
.rows td{padding:2px 0!important;border:0!important}
.rows .of{display:block!important}
.rows .n .of{float:left!important}
}
@media (prefers-color-scheme:dark){.rows td,.rows th,.rows tr,.one{border-color:#343d48!important}}`;

const isTable = ({ columns }: RecordTable): boolean => columns.length <= maxTableColumns;

function rowHtml({ columns }: RecordTable, row: readonly string[]): string {
  const cells = columns.map(({ label, numeric, short = numeric }, index) => {
    const of = `<span class="of note" style="display:none;${muted};font-size:12px">${escapeHtml(label)}</span>`;
    const style = `${cell};${short ? 'white-space:nowrap' : wrap}${numeric ? ';text-align:right' : ''}`;
    return `<td class="words${numeric ? ' n' : ''}" style="${style};${ink};${line}">${of}${escapeHtml(row[index] ?? '')}</td>`;
  });
  return `<tr>${cells.join('')}</tr>`;
}

/** One value per line: few bytes per value, so that many records fit even with many columns. */
function stackedHtml({ columns }: RecordTable, row: readonly string[]): string {
  const lines = columns.map(
    ({ label }, index) =>
      `<span class="note" style="${muted}">${escapeHtml(label)}:</span> ${escapeHtml(row[index] ?? '')}`,
  );
  return `<p class="words one" style="margin:0 0 12px;padding:0 0 12px;${font};font-size:14px;line-height:1.6;${wrap};${ink};${line}">${lines.join('<br>\n')}</p>`;
}

const oneHtml = (table: RecordTable, row: readonly string[]): string =>
  isTable(table) ? rowHtml(table, row) : stackedHtml(table, row);

/** How many of the rows, from the first on, fit into one mail: at least one. */
export function countRowsThatFit(table: RecordTable): number {
  let bytes = 0;
  const tooMany = table.rows.findIndex((row) => {
    bytes += Buffer.byteLength(oneHtml(table, row));
    return bytes > maxHtmlBytes;
  });
  return tooMany < 0 ? table.rows.length : Math.max(tooMany, 1);
}

export function recordTableHtml(table: RecordTable): string {
  const rows = table.rows.map((row) => oneHtml(table, row)).join('\n');
  if (!isTable(table)) return rows;
  const heads = table.columns.map(
    ({ label, numeric }) =>
      `<th scope="col" class="note" style="${cell};text-align:${numeric ? 'right' : 'left'};${muted};font-weight:600;${line}">${escapeHtml(label)}</th>`,
  );
  return `<table width="100%" cellpadding="0" cellspacing="0" class="rows" style="margin:0 0 16px;border-collapse:collapse"><thead><tr>${heads.join('')}</tr></thead><tbody>
${rows}
</tbody></table>`;
}

/** Aligned columns if they fit into 78 characters, otherwise one value per line. */
export function recordTableText({ columns, rows }: RecordTable): string {
  const widths = columns.map(({ label }, index) =>
    Math.max(label.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const whole = widths.reduce((sum, width) => sum + width + 2, -2);
  if (whole > textWidth)
    return rows
      .map((row) => columns.map(({ label }, index) => `${label}: ${row[index] ?? ''}`.trimEnd()).join('\n'))
      .join('\n\n');
  const aligned = (texts: readonly string[]): string =>
    columns
      .map(({ numeric }, index) => {
        const [text, width] = [texts[index] ?? '', widths[index] ?? 0];
        return numeric ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [columns.map(({ label }) => label), widths.map((width) => '-'.repeat(width)), ...rows]
    .map(aligned)
    .join('\n');
}
