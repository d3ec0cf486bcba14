// The layout of all mails: text and HTML of the same content. All content is escaped here. Styles are inline,
// as many mail clients drop style sheets; the dark ones are in a sheet, for clients that keep it.
import { escapeHtml } from '../core/text/escape-html.ts';
import { type RecordTable, recordTableHtml, recordTableStyles, recordTableText } from './record-table.ts';
import { font, wrap } from './style.ts';

export type MailContent = {
  /** Of its words; English unless given, with what to say above the address of a button. */
  readonly language?: { readonly code: string; readonly openAddress: string };
  /** Colour of links and buttons, `#rrggbb`: readable on white, and white on it. */
  readonly accent?: string | undefined;
  /** The heading, and the title of the HTML document. */
  readonly title: string;
  readonly paragraphs: readonly string[];
  /** A code to type, in large letters below the title. */
  readonly code?: string;
  /** Below the paragraphs, in a wider card. */
  readonly table?: RecordTable;
  /** The one thing that the recipient should do, as a button. */
  readonly action?: { readonly label: string; readonly url: string };
  /** Small print below: why the recipient gets this mail, how to stop it. */
  readonly notes?: readonly string[];
  /** The last line of the small print, such as an unsubscribe link. */
  readonly smallLink?: { readonly label: string; readonly url: string };
};

const darkStyles = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
.page{background:#12161b!important}.card{background:#1a2027!important;border-color:#343d48!important}
.words{color:#e4e8ee!important}.note{color:#a0abb8!important}.link{color:#7db0ff!important}
.button{background:#7db0ff!important;color:#0d1b30!important}}`;

const paragraph = (text: string): string =>
  `<p class="words" style="margin:0 0 16px;color:#1b2430;${font};font-size:16px;line-height:1.5;${wrap}">${escapeHtml(text)}</p>`;
const codeHtml = (code: string): string =>
  `<p class="words" style="margin:0 0 16px;color:#1b2430;${font};font-size:32px;line-height:1.3;font-weight:700;letter-spacing:2px;white-space:nowrap">${escapeHtml(code)}</p>`;
const note = (text: string): string =>
  `<p class="note" style="margin:0 0 8px;color:#56616f;${font};font-size:13px;line-height:1.5;${wrap}">${escapeHtml(text)}</p>`;
const english = { code: 'en', openAddress: 'If the button does not work, open this address:' };
const blue = '#1d5fd1';
type Link = NonNullable<MailContent['action']>;
const button = ({ label, url }: Link, openAddress: string, accent: string): string =>
  `<p style="margin:0 0 16px"><a class="button" href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:${accent};color:#ffffff;${font};font-size:16px;font-weight:600;text-decoration:none">${escapeHtml(label)}</a></p>
<p class="note" style="margin:0 0 16px;color:#56616f;${font};font-size:13px;line-height:1.5;${wrap}">${escapeHtml(openAddress)}<br><a class="link" href="${escapeHtml(url)}" style="color:${accent}">${escapeHtml(url)}</a></p>`;
const smallLinkHtml = ({ label, url }: Link, accent: string): string =>
  `<p class="note" style="margin:0 0 8px;color:#56616f;${font};font-size:13px;line-height:1.5"><a class="link" href="${escapeHtml(url)}" style="color:${accent}">${escapeHtml(label)}</a></p>`;

function toHtml({
  title,
  code,
  paragraphs,
  table,
  action,
  notes = [],
  smallLink,
  accent = blue,
  ...content
}: MailContent): string {
  const language = content.language ?? english;
  return `<!doctype html>
<html lang="${language.code}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<style>${darkStyles}${table === undefined ? '' : recordTableStyles}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f6f7f9">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" style="background:#f6f7f9"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" style="max-width:${table === undefined ? 560 : 760}px;background:#ffffff;border:1px solid #d5dae1;border-radius:10px"><tr><td style="padding:24px;text-align:left">
<h1 class="words" style="margin:0 0 16px;color:#1b2430;${font};font-size:20px;line-height:1.3;${wrap}">${escapeHtml(title)}</h1>
${code === undefined ? '' : `${codeHtml(code)}\n`}${paragraphs.map(paragraph).join('\n')}
${table === undefined ? '' : recordTableHtml(table)}
${action === undefined ? '' : button(action, language.openAddress, accent)}
${notes.map(note).join('\n')}
${smallLink === undefined ? '' : smallLinkHtml(smallLink, accent)}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function toText({ title, code, paragraphs, table, action, notes = [], smallLink }: MailContent): string {
  const records = table === undefined ? [] : [recordTableText(table)];
  const link = (given: MailContent['action']) =>
    given === undefined ? [] : [`${given.label}:\n${given.url}`];
  const small = [...notes, ...link(smallLink)];
  return `${[title, ...(code === undefined ? [] : [code]), ...paragraphs, ...records, ...link(action), ...(small.length > 0 ? ['-- '] : []), ...small].join('\n\n')}\n`;
}

/** Appends our small print to HTML that this service didn't write, such as an organization's template. */
export function withSmallPrint(
  html: string,
  { notes = [], smallLink }: Pick<MailContent, 'notes' | 'smallLink'>,
): string {
  const print = `<hr style="border:0;border-top:1px solid #d5dae1;margin:24px 0 12px">
${[...notes.map(note), ...(smallLink === undefined ? [] : [smallLinkHtml(smallLink, blue)])].join('\n')}
`;
  const end = [...html.matchAll(/<\/body>/gi)].at(-1)?.index;
  return end === undefined ? `${html}\n${print}` : `${html.slice(0, end)}${print}${html.slice(end)}`;
}

/** The text and the HTML part of a mail. */
export const layoutMail = (content: MailContent): { text: string; html: string } => ({
  text: toText(content),
  html: toHtml(content),
});
