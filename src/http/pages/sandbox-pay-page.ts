// The page on which a payer approves or declines a payment at the sandbox, the built-in payment provider.
// Test cards are chosen by name; there is no field into which a card number could be typed. The token in the
// URL is the only credential, so the request log omits it. No script, no cookie; the page links only to the
// checkout's success and cancel URLs.
import express, { type Request, type Response, Router } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import {
  cancelPaySession,
  findPaySession,
  type PaySession,
  payByCard,
} from '../../gateways/payments/sandbox/pay-session.ts';
import type { FailureLimit } from '../failure-limit.ts';
import type { PageAssets } from './page-assets.ts';
import { renderSmallPage, type SmallPageFiles, setPrivatePageHeaders } from './small-page.ts';

/** Formats the amount with exactly its own decimal places; the string is never converted to a number. */
const shownAmount = (amount: string, currency: string): string => {
  const digits = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat('en-GB', {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return format.format(amount as Intl.StringNumericLiteral);
};

const document = (title: string, body: string, files: SmallPageFiles): string =>
  renderSmallPage({
    title: `${title} · Sandbox`,
    header: '<p class="test">Test mode: no money moves</p>',
    body,
    files,
  });

function bill({ payee, title, items, amount, currency }: PaySession): string {
  const row = ({ label, amount: part }: PaySession['items'][number]) =>
    `        <tr><th scope="row">${escapeHtml(label)}</th><td>${escapeHtml(shownAmount(part, currency))}</td></tr>`;
  return `    <section aria-label="What is paid">
      <table>
${items.every(({ label }) => label === title) ? '' : `        <caption>${escapeHtml(title)}</caption>\n`}        <tbody>
${items.map(row).join('\n')}
        </tbody>
        <tfoot><tr><th scope="row">Total to ${escapeHtml(payee)}</th><td>${escapeHtml(shownAmount(amount, currency))}</td></tr></tfoot>
      </table>
    </section>`;
}

function form(session: PaySession): string {
  const { payee, amount, currency, failure, last4, expiresAt, cards } = session;
  const choice = (
    { id, last4: digits, title, description }: PaySession['cards'][number],
    index: number,
  ) => `        <div class="card">
          <input type="radio" name="card" value="${id}" id="card-${id}" aria-describedby="says-${id}" required${index === 0 ? ' checked' : ''}>
          <label for="card-${id}">${escapeHtml(title)} <span class="digits">ends in ${digits}</span></label>
          <p id="says-${id}">${escapeHtml(description)}</p>
        </div>`;
  const problem =
    failure === null
      ? ''
      : `    <p id="problem" role="alert">The card that ends in ${last4 ?? ''} was declined. ${escapeHtml(failure)} Nothing was paid; choose another card.</p>\n`;
  return `    <h1>Pay ${escapeHtml(shownAmount(amount, currency))} to ${escapeHtml(payee)}</h1>
${problem}    <form method="post">
${bill(session)}
      <fieldset>
        <legend>Test card</legend>
${cards.map(choice).join('\n')}
      </fieldset>
      <div class="actions">
        <button type="submit" name="do" value="pay">Pay ${escapeHtml(shownAmount(amount, currency))}</button>
        <button type="submit" name="do" value="cancel" class="quiet" formnovalidate>Cancel</button>
      </div>
    </form>
    <p class="until">This page is open until <time datetime="${expiresAt.toISOString()}">${expiresAt.toISOString().slice(11, 16)} UTC</time>.</p>`;
}

type Ending = { readonly heading: string; says(session: PaySession): string; readonly isPaid: boolean };
const endings: Readonly<Record<Exclude<PaySession['state'], 'open'>, Ending>> = {
  paid: {
    heading: 'Payment complete',
    says: ({ last4 }) => `It was paid with the card that ends in ${last4 ?? ''}.`,
    isPaid: true,
  },
  processing: {
    heading: 'This payment is being processed',
    says: () => 'There is nothing more to do. The card will not be charged again.',
    isPaid: true,
  },
  failed: {
    heading: 'This payment failed',
    says: ({ failure }) => `${failure ?? ''} Nothing was paid.`,
    isPaid: false,
  },
  canceled: {
    heading: 'This payment was canceled',
    says: () => 'Nothing was paid. To try again, go back to where you started the payment.',
    isPaid: false,
  },
  expired: {
    heading: 'This page has expired',
    says: () => 'Nothing was paid. To pay, go back to where you started the payment.',
    isPaid: false,
  },
};

function ending(session: PaySession, { heading, says, isPaid }: Ending): string {
  const address = isPaid ? session.successUrl : session.cancelUrl;
  return `    <h1>${heading}</h1>
    <p>${escapeHtml(says(session))}</p>
${bill(session)}
    <p class="actions"><a class="main" href="${escapeHtml(address)}">Back to ${escapeHtml(new URL(address).host)}</a></p>`;
}

function listTargets(session: PaySession | undefined): string {
  // Browsers check the redirect after a form submission against the same list.
  const targets =
    session === undefined
      ? []
      : [session.successUrl, session.cancelUrl].map((address) => new URL(address).origin);
  return [...new Set(["'self'", ...targets])].join(' ');
}

/** The URL is the credential: other sites must not learn it; this page's own forms must send their origin. */
const setHeaders = (res: Response, session: PaySession | undefined): void =>
  setPrivatePageHeaders(res, listTargets(session));

/**
 * Judged by the headers that browsers set. A client that sends neither is no browser, so no other page can
 * have caused the request.
 */
function comesFromHere(req: Request, publicUrl: string): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return req.headers.origin === undefined || req.headers.origin === new URL(publicUrl).origin;
}

const readToken = ({ params }: Request): string => String(params['token']);

/** `next` is the page itself unless that was done: it shows its state, and reloading it submits nothing again. */
async function payOrCancel(ctx: Ctx, req: Request) {
  const given: Record<string, unknown> = req.body ?? {};
  const isCanceling = given['do'] === 'cancel';
  const result = isCanceling
    ? await cancelPaySession(ctx, readToken(req))
    : await payByCard(ctx, readToken(req), String(given['card']));
  if (result === undefined) return undefined;
  const { session, outcome } = result;
  if (outcome !== 'done') return { session, next: req.originalUrl };
  return { session, next: isCanceling ? session.cancelUrl : session.successUrl };
}

function createPages(ctx: Ctx, failures: FailureLimit, files: SmallPageFiles): Router {
  const refuse = (res: Response, status: number, heading: string, text: string): void => {
    setHeaders(res, undefined);
    res.status(status).type('html');
    res.send(document(heading, `    <h1>${heading}</h1>\n    <p>${text}</p>`, files));
  };
  const unknown = async (req: Request, res: Response): Promise<void> => {
    await failures.countGuess(req);
    refuse(
      res,
      404,
      'Unknown payment page',
      'The address may be incomplete. Go back to where you started the payment.',
    );
  };

  const pages = Router({ caseSensitive: true });
  const address = pages.route('/:token');
  address.get(async (req, res) => {
    const session = await findPaySession(ctx, readToken(req));
    if (session === undefined) return unknown(req, res);
    setHeaders(res, session);
    const { state } = session;
    const body = state === 'open' ? form(session) : ending(session, endings[state]);
    res
      .type('html')
      .send(document(state === 'open' ? `Pay ${session.payee}` : endings[state].heading, body, files));
  });
  address.post(
    express.urlencoded({ extended: false, limit: 4_096, parameterLimit: 10 }),
    async (req, res) => {
      if (!comesFromHere(req, ctx.settings.publicUrl))
        return refuse(
          res,
          403,
          'This request did not come from the payment page',
          'Nothing was paid. Open the payment page and choose a card there.',
        );
      const submitted = await payOrCancel(ctx, req);
      if (submitted === undefined) return unknown(req, res);
      setHeaders(res, submitted.session);
      return res.redirect(303, submitted.next);
    },
  );
  address.all((_req, res) => {
    res.setHeader('Allow', 'GET, HEAD, POST');
    refuse(res, 405, 'Method not allowed', 'A payment page can only be opened and submitted.');
  });
  return pages;
}

/** Mount it at /pay/sandbox. */
export const createSandboxPayPages = (
  ctx: Ctx,
  failures: FailureLimit,
  { address, smallPage }: PageAssets,
): Router =>
  createPages(ctx, failures, {
    ...smallPage,
    stylesheets: [...smallPage.stylesheets, `${address}/payments/pay.css`],
  });
