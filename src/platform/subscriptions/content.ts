// What the mails of one slot say, made once for all recipients: the first records in the mail, by our layout or by a template, or all of
// them attached. Pure.
import { type Attachment, layoutMail, type MailContent, type RecordTable, rowsThatFit, withSmallPrint } from '../../mail/index.ts';
import { withoutLabels } from '../portal/sources.ts';

export type Column = { readonly name: string; readonly label: string; readonly type: string | null };
export type FoundView = {
  readonly columns: readonly Column[];
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly syncedAt: string | null;
  readonly problems: readonly string[];
};

/** What the mails are about, beside the records. */
export type About = {
  readonly viewName: string;
  readonly organizationName: string;
  readonly ownerName: string;
  readonly timezone: string;
};

export type SlotContent = {
  /** What the mails are called on the page behind their link. */
  readonly title: string;
  readonly subject: string;
  readonly records: number;
  readonly attachment: Attachment | undefined;
  /** Both parts of the mail to whoever has this link. */
  layout(unsubscribeUrl: string): { readonly text: string; readonly html: string };
};

const longestCell = 300;
const longestSubject = 200;

/** `2026-03-02 10:00`, by the clocks of the time zone. */
export const localTime = (instant: string, timezone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(instant));

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`);
export const oneLine = (text: string, most: number): string => cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), most);

/** A value as a reader of mail sees it; empty where there is none. Numbers keep the digits that they were read with. */
export function cellText(value: unknown, type: string | null, timezone: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return type === 'time' ? localTime(value, timezone) : oneLine(value, longestCell);
  if (Array.isArray(value)) return value.length === 1 ? '1 line' : `${value.length} lines`;
  return JSON.stringify(value);
}

const counted = (total: number): string => `${total.toLocaleString('en-US')} ${total === 1 ? 'record' : 'records'}`;
export const subjectOf = ({ viewName }: About, total: number): string =>
  oneLine(`${viewName}: ${total === 0 ? 'no records' : counted(total)}`, longestSubject);

const asOf = ({ syncedAt }: Pick<FoundView, 'syncedAt'>, { timezone }: About): string =>
  syncedAt === null ? 'It is not known when they were synced.' : `As of ${localTime(syncedAt, timezone)} (${timezone}).`;

const problemWords = (problems: readonly string[]): string[] =>
  problems.length === 0 ? [] : [`This view has a problem, so that it may show less than it should: ${problems.join('; ')}.`];

const whyYou = ({ ownerName, viewName, organizationName }: About): string =>
  `You get this mail because ${ownerName} of ${organizationName} subscribed your address to “${viewName}”.`;

const smallPrint = (about: About, url: string) => ({ notes: [whyYou(about)], smallLink: { label: 'Unsubscribe', url } });
type Words = Omit<MailContent, 'notes' | 'smallLink'>;
const withLink = (words: Words, about: About) => (url: string) => layoutMail({ ...words, ...smallPrint(about, url) });

function tableOf(found: FoundView, about: About): RecordTable {
  const columns = found.columns.map(({ label, type }) => ({
    label: oneLine(label, 80),
    numeric: type === 'number' || type === 'integer',
    ...((type === 'date' || type === 'time') && { short: true }),
  }));
  const rows = found.records.map((record) => found.columns.map(({ name, type }) => cellText(record[name], type, about.timezone)));
  const table = { columns, rows };
  return { columns, rows: rows.slice(0, rowsThatFit(table)) };
}

function tableWords(found: FoundView, about: About): Words {
  const table = tableOf(found, about);
  const [all, shown] = [found.total, table.rows.length];
  const summary =
    all === 0
      ? 'There are no records.'
      : shown === all
        ? `${counted(all)}.`
        : `The first ${shown.toLocaleString('en-US')} of ${counted(all)}.`;
  const words = { title: about.viewName, paragraphs: [`${summary} ${asOf(found, about)}`, ...problemWords(found.problems)] };
  return shown === 0 ? words : { ...words, table };
}

/** The first records in the mail itself. */
export const tableContent = (found: FoundView, about: About): SlotContent => ({
  title: about.viewName,
  subject: subjectOf(about, found.total),
  records: found.total,
  attachment: undefined,
  layout: withLink(tableWords(found, about), about),
});

/** What a template of the organization is given to read. */
export function templateData(found: FoundView, about: About): Readonly<Record<string, unknown>> {
  const rows = found.records.map((record) => ({
    ...withoutLabels(record),
    cells: found.columns.map(({ name, type }) => cellText(record[name], type, about.timezone)),
  }));
  return {
    view: { name: about.viewName },
    organization: { name: about.organizationName },
    columns: found.columns.map(({ name, label }) => ({ source: name, label })),
    rows,
    total: found.total,
    syncedAt: found.syncedAt,
    problems: found.problems,
  };
}

/** A template's words, with our small print; readers of plain text see the records by our layout. */
export function templateContent(found: FoundView, about: About, texts: { readonly subject: string; readonly body: string }): SlotContent {
  const plain = withLink(tableWords(found, about), about);
  return {
    title: about.viewName,
    subject: oneLine(texts.subject, longestSubject) || subjectOf(about, found.total),
    records: found.total,
    attachment: undefined,
    layout: (url) => ({ text: plain(url).text, html: withSmallPrint(texts.body, smallPrint(about, url)) }),
  };
}

const fileNameOf = ({ viewName }: About, day: string): string => {
  const name = viewName
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return `${name.slice(0, 60) || 'records'}-${day}.csv`;
};

/** All records as a file. `slot` gives the file its date. */
export function csvContent(found: Omit<FoundView, 'columns' | 'records'>, csv: Buffer, about: About, slot: Date): SlotContent {
  const filename = fileNameOf(about, localTime(slot.toISOString(), about.timezone).slice(0, 10));
  const summary =
    found.total === 0 ? `There are no records: ${filename} holds the headings alone.` : `${counted(found.total)} in ${filename}.`;
  return {
    title: about.viewName,
    subject: subjectOf(about, found.total),
    records: found.total,
    attachment: { filename, contentType: 'text/csv', content: csv },
    layout: withLink({ title: about.viewName, paragraphs: [`${summary} ${asOf(found, about)}`, ...problemWords(found.problems)] }, about),
  };
}
