// The pages behind the link of a subscription's mail. GET only shows, since programs that look through mails open every link; POST to
// the same address ends it, whatever its body holds, as RFC 8058 has it: no sign-in, no cookie, no redirect, no script.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Ctx } from '../core/ctx.ts';
import { escapeHtml } from '../core/escape-html.ts';
import { countGuess } from './authenticate.ts';
import { forThisAlone, smallPage } from './small-page.ts';

/** `ended`: the address was taken off the list by whoever made it. */
export type LinkState = {
  readonly email: string;
  readonly title: string;
  readonly organizationName: string;
  readonly state: 'active' | 'unsubscribed' | 'ended';
};
export type LinkCaller = { readonly ip: string; readonly requestId: string };

/** What the links mean; each answers undefined for a token that is not known. */
export type UnsubscribeLinks = {
  look(ctx: Ctx, token: string): Promise<LinkState | undefined>;
  unsubscribe(ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined>;
  resubscribe(ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined>;
};

const contentPolicy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

type Page = {
  readonly heading: string;
  readonly words: readonly string[];
  readonly button?: { readonly label: string; readonly path: string };
};

const render = ({ heading, words, button }: Page, token: string, stylesheet: string): string =>
  smallPage({
    title: `${heading} · Portal Service`,
    header: '<p>Portal Service</p>',
    body: `    <h1>${heading}</h1>
${words.map((text) => `    <p>${escapeHtml(text)}</p>`).join('\n')}
${
  button === undefined
    ? ''
    : `    <form method="post" action="${button.path}?token=${encodeURIComponent(token)}"><button type="submit">${button.label}</button></form>`
}`,
    stylesheets: [stylesheet],
  });

const undo = { label: 'Subscribe again', path: '/unsubscribe/undo' };

function pageOf(found: LinkState | undefined): Page {
  if (found === undefined)
    return {
      heading: 'This link is not known',
      words: ['It may not be whole, or the mails that it belongs to have ended. Use the link in the latest mail.'],
    };
  const { email, title, organizationName, state } = found;
  if (state === 'active')
    return {
      heading: 'Unsubscribe',
      words: [`${organizationName} sends mails like “${title}” to ${email}.`, 'Press the button to get no more of them.'],
      button: { label: 'Unsubscribe', path: '/unsubscribe' },
    };
  if (state === 'ended')
    return { heading: 'No more mails', words: [`${organizationName} has taken ${email} off the list for mails like “${title}”.`] };
  return {
    heading: 'You are unsubscribed',
    words: [`${email} gets no more mails like “${title}” from ${organizationName}.`, 'If that was a mistake, take it back:'],
    button: undo,
  };
}

function send(res: Response, found: LinkState | undefined, token: string, stylesheet: string): void {
  forThisAlone(res, contentPolicy, 'no-referrer');
  res.status(found === undefined ? 404 : 200).type('html');
  res.send(render(pageOf(found), token, stylesheet));
}

const tokenOf = ({ query }: Request): string => (typeof query['token'] === 'string' ? query['token'] : '');

/** Below /unsubscribe: GET and POST of the address itself, and POST of /undo; all with `?token=`, which stays out of the request log there. */
export function unsubscribePages(ctx: Ctx, links: UnsubscribeLinks, stylesheet: string): Router {
  const callerOf = (req: Request, res: Response): LinkCaller => ({ ip: req.ip ?? '', requestId: String(res.locals['requestId']) });
  const page =
    (find: (ctx: Ctx, token: string, caller: LinkCaller) => Promise<LinkState | undefined>): RequestHandler =>
    async (req, res) => {
      const token = tokenOf(req);
      const found = await find(ctx, token, callerOf(req, res));
      if (found === undefined) await countGuess(ctx, req);
      send(res, found, token, stylesheet);
    };
  const pages = Router({ caseSensitive: true });
  pages.get('/', page(links.look));
  pages.post('/', page(links.unsubscribe));
  pages.post('/undo', page(links.resubscribe));
  return pages;
}
