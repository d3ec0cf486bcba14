// Pages as PDF: what a page says, under the company's brand.
import { AppError } from '../core/errors.ts';
import { safeFileName } from '../core/text/file-name.ts';
import { readShownLogo } from '../platform/index.ts';
import { chooseLanguage } from './frame.ts';
import { readOwnRecord } from './pages/profile.ts';
import { readRecord } from './pages/record.ts';
import type { Paper, Renderer } from './renderer-model.ts';
import type { At } from './room.ts';
import { readStatementPage } from './statement/statement-page.ts';
import type { Language } from './view-model.ts';
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

/** The bytes, or undefined where the fonts lack letters, or it is too large. */
async function writePdf({ room, ctx }: At, visit: Visit, { to, ...paper }: Paper, language: Language) {
  const { postalAddress, documentNote } = visit.content.branding;
  const [brand, named] = await Promise.all([
    readBrand(visit),
    room.nameCustomers(ctx, visit.portal, [visit.customer]),
  ]);
  const document = {
    ...{ ...paper, language, brand },
    from: listLines(postalAddress),
    to: [named[0]?.name ?? visit.customer, ...to],
    notes: listLines(documentNote),
  };
  const result = await room.pdf.write(ctx.organizationId, document).catch((error: unknown) => {
    if (error instanceof AppError && error.status === 422) return undefined;
    throw error;
  });
  return result !== undefined && 'bytes' in result ? result.bytes : undefined;
}

/** Without a PDF it leads to the page, which says so and can be printed. */
async function sendPaper(
  at: At,
  visit: Visit,
  read: (renderer: Renderer, language: Language) => Promise<{ paper: Paper | undefined; name: string }>,
): Promise<void> {
  const { room, req, res, site } = at;
  const language = chooseLanguage(req, visit.portal.settings);
  const { paper, name } = await read(await room.loadRenderer(), language);
  const bytes = paper && (await writePdf(at, visit, paper, language));
  res.setHeader('Cache-Control', 'private, no-store');
  if (bytes === undefined) {
    const query = new URLSearchParams({ ...(req.query as Record<string, string>), pdf: 'none' });
    return res.redirect(303, `${site.base}${req.path.replace(/\.pdf$/, '')}?${query}`);
  }
  res.attachment(safeFileName(`${name}.pdf`));
  res.type('pdf').send(Buffer.from(bytes));
}

/** Rejects as `readRecord`. */
export const sendRecordPaper = (at: At, visit: Visit): Promise<void> =>
  sendPaper(at, visit, async ({ recordPaper }, language) => {
    const page = await readRecord(visit, at.req, { isPaper: true });
    return { paper: recordPaper(page, language), name: page.title };
  });

/** Rejects as `readStatementPage`. */
export const sendStatementPaper = (at: At, visit: Visit): Promise<void> =>
  sendPaper(at, visit, async ({ statementPaper, labelText }, language) => {
    const [page, { fields }] = await Promise.all([readStatementPage(visit, at.req), readOwnRecord(visit)]);
    const address = fields.find(({ isAddress }) => isAddress)?.value ?? null;
    const { from, to } = page.period;
    const name = `${labelText({ own: 'statement' }, language)} ${from} ${to}`;
    return { paper: page.accounts === null ? undefined : statementPaper(page, address, language), name };
  });
