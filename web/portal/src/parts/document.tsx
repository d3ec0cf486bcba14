// The whole document: its head, what surrounds every page, and the page itself.
import type { ComponentChildren } from 'preact';
import type { Page } from '../../../../src/portal/view-model.ts';
import { Ask } from '../pages/ask.tsx';
import { ChooseCustomer } from '../pages/choose-customer.tsx';
import { Configured } from '../pages/configured.tsx';
import { Home } from '../pages/home.tsx';
import { List } from '../pages/list.tsx';
import { MailLink } from '../pages/mail-link.tsx';
import { Pay } from '../pages/pay.tsx';
import { Payments, PaymentView } from '../pages/payment.tsx';
import { ProblemView, problemTitle } from '../pages/problem.tsx';
import { Profile } from '../pages/profile.tsx';
import { RecordView } from '../pages/record.tsx';
import { Code, OtherBrowser, SignIn } from '../pages/sign-in.tsx';
import { Statement } from '../pages/statement.tsx';
import { useView, type View } from '../view.ts';
import { Footer } from './footer.tsx';
import { Header, ViewAs } from './header.tsx';

/** Those with one card in the middle. */
const smallKinds: readonly Page['kind'][] = [
  'sign-in',
  'code',
  'mail-link',
  'other-browser',
  'choose-customer',
  'problem',
];

const Content = ({ page }: { page: Page }): ComponentChildren => {
  switch (page.kind) {
    case 'home':
      return <Home page={page} />;
    case 'list':
      return <List page={page} />;
    case 'record':
      return <RecordView page={page} />;
    case 'page':
      return <Configured page={page} />;
    case 'pay':
      return <Pay page={page} />;
    case 'payment':
      return <PaymentView page={page} />;
    case 'payments':
      return <Payments page={page} />;
    case 'statement':
      return <Statement page={page} />;
    case 'ask':
      return <Ask page={page} />;
    case 'profile':
      return <Profile page={page} />;
    case 'problem':
      return <ProblemView page={page} />;
    case 'sign-in':
      return <SignIn page={page} />;
    case 'code':
      return <Code page={page} />;
    case 'mail-link':
      return <MailLink page={page} />;
    case 'other-browser':
      return <OtherBrowser />;
    case 'choose-customer':
      return <ChooseCustomer page={page} />;
  }
};

function pageTitle(page: Page, view: View): string {
  switch (page.kind) {
    case 'home':
      return view.text('home.title');
    case 'list':
      return view.label(page.title);
    case 'record':
    case 'page':
      return page.title;
    case 'pay':
      return view.text('own.pay');
    case 'payment':
      return view.text('payment.title', { amount: view.money(page.payment.amount) });
    case 'payments':
      return view.text('own.payments');
    case 'statement':
      return view.text('own.statement');
    case 'ask':
      return view.text('own.ask');
    case 'profile':
      return view.text('own.profile');
    case 'problem':
      return problemTitle(page, view);
    case 'sign-in':
      return view.text('sign-in.title');
    case 'code':
      return view.text('code.title');
    case 'mail-link':
      return view.text(page.email === null ? 'mails.ended.title' : 'mails.end.title');
    case 'other-browser':
      return view.text('other-browser.title');
    case 'choose-customer':
      return view.text('choose.title');
  }
}

/**
 * To the provider's page, which a form must not lead to by itself: the page's own address is all that it may be sent
 * to. Without scripts a page that follows a payment or an answer loads itself again.
 */
const Refresh = ({ page }: { page: Page }) => {
  if (page.kind !== 'payment' && page.kind !== 'ask') return null;
  if (page.kind === 'payment' && page.isBegun && page.url !== null)
    return <meta http-equiv="refresh" content={`0;url=${page.url}`} />;
  if (page.events === null) return null;
  if (page.kind === 'payment' && page.url !== null && !page.isBack) return null;
  return (
    <noscript>
      <meta http-equiv="refresh" content={page.kind === 'ask' ? '3' : '10'} />
    </noscript>
  );
};

const Head = ({ title, page }: { title: string; page: Page }) => {
  const { files, brand } = useView().frame;
  return (
    <head>
      <meta charSet="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex" />
      <meta name="format-detection" content="telephone=no" />
      <Refresh page={page} />
      <title>{title === brand.name ? title : `${title} · ${brand.name}`}</title>
      <link rel="icon" href={files.icon} />
      {files.stylesheets.map((address) => (
        <link key={address} rel="stylesheet" href={address} />
      ))}
      {files.scripts.map((address, at) => (
        // The first sets the theme before anything is painted.
        <script key={address} src={address} defer={at > 0} />
      ))}
    </head>
  );
};

/** On paper: who the page is of, and when it was printed. */
const PrintedHead = () => {
  const view = useView();
  const { brand, visitor } = view.frame;
  const date = view.instant(new Date().toISOString(), { style: 'long' });
  return (
    <div class="printed-head" aria-hidden="true">
      <b>{brand.name}</b>
      <span>{visitor?.customer?.name}</span>
      <span>{view.text('frame.printed', { date })}</span>
    </div>
  );
};

export const Document = ({ page }: { page: Page }) => {
  const view = useView();
  const small = smallKinds.includes(page.kind);
  return (
    <html lang={view.language}>
      <Head title={pageTitle(page, view)} page={page} />
      <body>
        <a class="skip" href="#content">
          {view.text('frame.skip')}
        </a>
        <ViewAs />
        <Header />
        <PrintedHead />
        <main id="content" class={small ? 'small' : undefined} tabIndex={-1}>
          {small ? (
            <div class="card">
              <Content page={page} />
            </div>
          ) : (
            <Content page={page} />
          )}
        </main>
        <Footer />
      </body>
    </html>
  );
};
