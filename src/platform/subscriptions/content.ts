// Content of the mails of one slot, created once for all recipients: the first records in the mail, by our
// layout or by a template, or all records attached as CSV. Pure.
import { safeFileName } from '../../core/text/file-name.ts';
import {
  type Attachment,
  countRowsThatFit,
  layoutMail,
  type MailContent,
  type RecordTable,
  withSmallPrint,
} from '../../mail/index.ts';
import { formatLocalTime, oneLine, recordCell, type ViewTable } from '../views/view-table.ts';

/** What the mails mention in addition to the records. */
export type MailContext = {
  readonly viewName: string;
  readonly organizationName: string;
  readonly ownerName: string;
  readonly timezone: string;
  /** Where the browser of a member of the organization saves all records of the view. */
  readonly recordsUrl: string;
};

export type SlotContent = {
  /** How the unsubscribe page names these mails. */
  readonly title: string;
  readonly subject: string;
  readonly records: number;
  readonly attachment: Attachment | undefined;
  /** Both parts of the mail, for the recipient with this link. */
  layout(unsubscribeUrl: string): { readonly text: string; readonly html: string };
};

const maxSubjectLength = 200;

type Counted = Pick<ViewTable, 'total' | 'unit'>;
const formatCount = ({ total, unit }: Counted): string =>
  `${total.toLocaleString('en-US')} ${unit}${total === 1 ? '' : 's'}`;
const formatSubject = ({ viewName }: MailContext, view: Counted): string =>
  oneLine(`${viewName}: ${view.total === 0 ? `no ${view.unit}s` : formatCount(view)}`, maxSubjectLength);

const describeSyncTime = ({ syncedAt }: Pick<ViewTable, 'syncedAt'>, { timezone }: MailContext): string =>
  syncedAt === null
    ? 'The time of the last sync is unknown.'
    : `As of ${formatLocalTime(syncedAt, timezone)} (${timezone}).`;

const problemParagraphs = (problems: readonly string[]): string[] =>
  problems.length === 0 ? [] : [`This view has a problem and may be incomplete: ${problems.join('; ')}.`];

const reasonForMail = ({ ownerName, viewName, organizationName }: MailContext): string =>
  `You get this mail because ${ownerName} of ${organizationName} subscribed your address to “${viewName}”.`;

const footer = (context: MailContext, url: string) => ({
  notes: [reasonForMail(context)],
  smallLink: { label: 'Unsubscribe', url },
});
type MailBody = Omit<MailContent, 'notes' | 'smallLink'>;
const layoutFor = (body: MailBody, context: MailContext) => (url: string) =>
  layoutMail({ ...body, ...footer(context, url) });

function buildTable(view: ViewTable, context: MailContext): RecordTable {
  const columns = view.columns.map(({ label, type }) => ({
    label: oneLine(label, 80),
    numeric: type === 'number' || type === 'integer',
    ...((type === 'date' || type === 'time') && { short: true }),
  }));
  const rows = view.records.map((record) =>
    view.columns.map((column) => recordCell(record, column, context.timezone)),
  );
  const table = { columns, rows };
  return { columns, rows: rows.slice(0, countRowsThatFit(table)) };
}

function tableBody(view: ViewTable, context: MailContext): MailBody {
  const table = buildTable(view, context);
  const [all, shown] = [view.total, table.rows.length];
  const summary =
    all === 0
      ? `There are no ${view.unit}s.`
      : shown === all
        ? `${formatCount(view)}.`
        : `The first ${shown.toLocaleString('en-US')} of ${formatCount(view)}.`;
  const body = {
    title: context.viewName,
    paragraphs: [`${summary} ${describeSyncTime(view, context)}`, ...problemParagraphs(view.problems)],
  };
  if (shown === 0) return body;
  const label = view.unit === 'row' ? 'Download the records' : `Download all ${formatCount(view)}`;
  return { ...body, table, ...(shown < all && { action: { label, url: context.recordsUrl } }) };
}

/** The first records in the mail itself. */
export const tableContent = (view: ViewTable, context: MailContext): SlotContent => ({
  title: context.viewName,
  subject: formatSubject(context, view),
  records: view.total,
  attachment: undefined,
  layout: layoutFor(tableBody(view, context), context),
});

/** Subject and HTML from a rendered template, with our footer; plain text shows the records in our layout. */
export function templateContent(
  view: ViewTable,
  context: MailContext,
  texts: { readonly subject: string; readonly body: string },
): SlotContent {
  const plain = layoutFor(tableBody(view, context), context);
  return {
    title: context.viewName,
    subject: oneLine(texts.subject, maxSubjectLength) || formatSubject(context, view),
    records: view.total,
    attachment: undefined,
    layout: (url) => ({ text: plain(url).text, html: withSmallPrint(texts.body, footer(context, url)) }),
  };
}

/** All records as an attached CSV file, named as the download of the view. */
export function csvContent(
  view: Omit<ViewTable, 'columns' | 'records' | 'unit'>,
  csv: Buffer,
  context: MailContext,
): SlotContent {
  const filename = safeFileName(`${context.viewName}.csv`);
  const summary =
    view.total === 0
      ? `There are no records: ${filename} contains only the column headings.`
      : `${formatCount({ total: view.total, unit: 'record' })} in ${filename}.`;
  return {
    title: context.viewName,
    subject: formatSubject(context, { ...view, unit: 'record' }),
    records: view.total,
    attachment: { filename, contentType: 'text/csv', content: csv },
    layout: layoutFor(
      {
        title: context.viewName,
        paragraphs: [`${summary} ${describeSyncTime(view, context)}`, ...problemParagraphs(view.problems)],
      },
      context,
    ),
  };
}
