// The pages behind the unsubscribe link of a subscription's mails. GET only shows a page, since mail scanners
// open every link; POST to the same address unsubscribes whatever its body holds, as RFC 8058 demands: no
// sign-in, no cookie, no redirect, no script.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { renderSmallPage, type SmallPageFiles, setPrivatePageHeaders } from './small-page.ts';

/** `ended`: the organization removed the address from the list. */
export type LinkState = {
  readonly email: string;
  readonly title: string;
  readonly organizationName: string;
  readonly state: 'active' | 'unsubscribed' | 'ended';
};
export type LinkCaller = { readonly ip: string; readonly requestId: string };

/** What the pages can do. Each method resolves with undefined for an unknown token. */
export type UnsubscribeLinks = {
  find(ctx: Ctx, token: string): Promise<LinkState | undefined>;
  unsubscribe(ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined>;
  resubscribe(ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined>;
};

type Page = {
  readonly heading: string;
  readonly paragraphs: readonly string[];
  readonly button?: { readonly label: string; readonly path: string };
};

const render = ({ heading, paragraphs, button }: Page, token: string, files: SmallPageFiles): string =>
  renderSmallPage({
    title: `${heading} · Portal Service`,
    body: `    <h1>${heading}</h1>
${paragraphs.map((text) => `    <p>${escapeHtml(text)}</p>`).join('\n')}
${
  button === undefined
    ? ''
    : `    <form method="post" action="${button.path}?token=${encodeURIComponent(token)}"><button type="submit">${button.label}</button></form>`
}`,
    files,
  });

const undo = { label: 'Subscribe again', path: '/unsubscribe/undo' };

function choosePage(found: LinkState | undefined): Page {
  if (found === undefined)
    return {
      heading: 'Unknown link',
      paragraphs: [
        'The link may be incomplete, or its subscription was deleted. Use the link in the latest mail.',
      ],
    };
  const { email, title, organizationName, state } = found;
  if (state === 'active')
    return {
      heading: 'Mails to you',
      paragraphs: [`${organizationName} sends mails like “${title}” to ${email}.`],
      button: { label: 'Unsubscribe', path: '/unsubscribe' },
    };
  if (state === 'ended')
    return {
      heading: 'No more mails',
      paragraphs: [`${organizationName} has removed ${email} from the list for mails like “${title}”.`],
    };
  return {
    heading: 'You are unsubscribed',
    paragraphs: [
      `${email} will receive no more mails like “${title}” from ${organizationName}.`,
      'Was that a mistake?',
    ],
    button: undo,
  };
}

function send(res: Response, found: LinkState | undefined, token: string, files: SmallPageFiles): void {
  setPrivatePageHeaders(res, "'self'");
  // The link is the credential: no other page learns it, not even one of this service.
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.status(found === undefined ? 404 : 200).type('html');
  res.send(render(choosePage(found), token, files));
}

const readToken = ({ query }: Request): string => (typeof query['token'] === 'string' ? query['token'] : '');

/**
 * Mount it at /unsubscribe: GET and POST of the path itself, and POST of /undo, all with `?token=`. The
 * request log omits the query.
 */
export function createUnsubscribePages(
  ctx: Ctx,
  failures: FailureLimit,
  links: UnsubscribeLinks,
  files: SmallPageFiles,
): Router {
  const toLinkCaller = (req: Request, res: Response): LinkCaller => ({
    ip: req.ip ?? '',
    requestId: String(res.locals['requestId']),
  });
  const page =
    (find: (ctx: Ctx, token: string, caller: LinkCaller) => Promise<LinkState | undefined>): RequestHandler =>
    async (req, res) => {
      const token = readToken(req);
      const found = await find(ctx, token, toLinkCaller(req, res));
      if (found === undefined) await failures.countGuess(req);
      send(res, found, token, files);
    };
  const pages = Router({ caseSensitive: true });
  pages.get('/', page(links.find));
  pages.post('/', page(links.unsubscribe));
  pages.post('/undo', page(links.resubscribe));
  return pages;
}
