// Pages as PDF: what a page says, under the company's brand.
import { AppError } from '../core/errors.ts';
import { safeFileName } from '../core/text/file-name.ts';
import { readShownLogo } from '../platform/index.ts';
import { chooseLanguage } from './frame.ts';
import { readOwnRecord } from './pages/profile.ts';
import { readRecord } from './pages/record.ts';
import type { Paper } from './renderer-model.ts';
import type { At, Room } from './room.ts';
import { readStatementPage } from './statement/statement-page.ts';
import type { Language, StatementPage } from './view-model.ts';
import type { Visit } from './visit.ts';

/** That of the service. */
const defaultAccent = '#2457d6';

const listLines = (text: string | null): string[] => text?.split('\n') ?? [];

async function readBrand({ ctx, content: { branding }, site }: Visit) {
  const logo = branding.hasLogo ? await readShownLogo(ctx, branding.revision) : undefined;
  return {
    name: branding.name ?? site.name,
    accent: branding.accent ?? defaultAccent,
    logo: logo === undefined ? null : { type: logo.logo_type, bytes: logo.logo },
  };
}

export type Press = Pick<Room, 'loadRenderer' | 'nameCustomers' | 'pdf'>;
export type Pdf = { readonly name: string; readonly bytes: Uint8Array };
type Sheet = { readonly paper: Paper; readonly name: string };

/** Undefined where the fonts lack letters, or it is too large. */
async function writePdf(
  { pdf, nameCustomers }: Press,
  visit: Visit,
  { paper: { to, ...paper }, name }: Sheet,
  language: Language,
): Promise<Pdf | undefined> {
  const { postalAddress, documentNote } = visit.content.branding;
  const [brand, named] = await Promise.all([
    readBrand(visit),
    nameCustomers(visit.ctx, visit.portal, [visit.customer]),
  ]);
  const document = {
    ...{ ...paper, language, brand },
    from: listLines(postalAddress),
    to: [named[0]?.name ?? visit.customer, ...to],
    notes: listLines(documentNote),
  };
  const result = await pdf.write(visit.ctx.organizationId, document).catch((error: unknown) => {
    if (error instanceof AppError && error.status === 422) return undefined;
    throw error;
  });
  if (result === undefined || !('bytes' in result)) return undefined;
  return { name: safeFileName(`${name}.pdf`), bytes: result.bytes };
}

/** Rejects as `readRecord`. */
export async function writeRecord(
  press: Press,
  visit: Visit,
  asked: Parameters<typeof readRecord>[1],
  language: Language,
): Promise<Pdf | undefined> {
  const { recordPaper } = await press.loadRenderer();
  const page = await readRecord(visit, asked, { isPaper: true });
  return writePdf(press, visit, { paper: recordPaper(page, language), name: page.title }, language);
}

/** Undefined also for a period with too many documents. Rejects as `readOwnRecord`. */
export async function writeStatement(
  press: Press,
  visit: Visit,
  page: StatementPage,
  language: Language,
): Promise<Pdf | undefined> {
  if (page.accounts === null) return undefined;
  const { statementPaper, labelText } = await press.loadRenderer();
  const { fields } = await readOwnRecord(visit);
  const address = fields.find(({ isAddress }) => isAddress)?.value ?? null;
  const { from, to } = page.period;
  const name = `${labelText({ own: 'statement' }, language)} ${from} ${to}`;
  return writePdf(press, visit, { paper: statementPaper(page, address, language), name }, language);
}

/** Without a PDF it leads to the page, which says so and can be printed. */
async function sendPdf(
  { room, req, res, site }: At,
  visit: Visit,
  write: (press: Press, language: Language) => Promise<Pdf | undefined>,
): Promise<void> {
  const pdf = await write(room, chooseLanguage(req, visit.portal.settings));
  res.setHeader('Cache-Control', 'private, no-store');
  if (pdf === undefined) {
    const query = new URLSearchParams({ ...(req.query as Record<string, string>), pdf: 'none' });
    return res.redirect(303, `${site.base}${req.path.replace(/\.pdf$/, '')}?${query}`);
  }
  res.attachment(pdf.name);
  res.type('pdf').send(Buffer.from(pdf.bytes));
}

/** Rejects as `writeRecord`. */
export const sendRecordPaper = (at: At, visit: Visit): Promise<void> =>
  sendPdf(at, visit, (press, language) => writeRecord(press, visit, at.req, language));

/** Rejects as `readStatementPage`. */
export const sendStatementPaper = (at: At, visit: Visit): Promise<void> =>
  sendPdf(at, visit, async (press, language) =>
    writeStatement(press, visit, await readStatementPage(visit, at.req), language),
  );
