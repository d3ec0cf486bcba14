// The top of every page: the company, the pages, the customer, the language and the visitor. Where it is narrow,
// all but the company are in one menu.
import { pageAddress } from '../addresses.ts';
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';
import { CustomerForm, LanguageForm, SignOutForm } from './menu-forms.tsx';
import { Navigation, NavigationList } from './navigation.tsx';

const firstLetter = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? '·';

const Brand = () => {
  const { brand, base } = useView().frame;
  return (
    <a class="brand" href={pageAddress(base)}>
      {brand.logo === null ? (
        <>
          <span class="mark" aria-hidden="true">
            {firstLetter(brand.name)}
          </span>
          <span class="brand-name">{brand.name}</span>
        </>
      ) : (
        <img class="logo" src={brand.logo} alt={brand.name} />
      )}
    </a>
  );
};

const CustomerMenu = () => {
  const view = useView();
  const { visitor } = view.frame;
  if (visitor === null || visitor.customers.length < 2) return null;
  return (
    <details class="drop customer-menu" name="top">
      <summary>
        <span class="hidden-text">{view.text('frame.customer')}: </span>
        <span class="cut">{visitor.customer?.name ?? view.text('frame.customer')}</span>
        <Icon name="fold" />
      </summary>
      <div class="panel end">
        <CustomerForm />
      </div>
    </details>
  );
};

const LanguageMenu = () => {
  const view = useView();
  if (view.frame.languages.length < 2) return null;
  return (
    <details class="drop" name="top">
      <summary>
        <span class="hidden-text">{view.text('language.label')}: </span>
        {view.language.toUpperCase()}
        <Icon name="fold" />
      </summary>
      <div class="panel end">
        <LanguageForm />
      </div>
    </details>
  );
};

const Visitor = () => {
  const view = useView();
  const { visitor, base } = view.frame;
  if (visitor === null) return null;
  return (
    <div class="visitor">
      <p class="who">
        <span>{view.text('frame.signedInAs')}</span>
        <b>{visitor.email}</b>
      </p>
      <a class="choice" href={pageAddress(base, 'profile')}>
        {view.text('own.profile')}
      </a>
      <SignOutForm />
    </div>
  );
};

const VisitorMenu = () => {
  const view = useView();
  const { visitor } = view.frame;
  if (visitor === null) return null;
  return (
    <details class="drop" name="top">
      <summary class="round" aria-label={`${view.text('frame.account')}: ${visitor.email}`}>
        <span class="mark quiet" aria-hidden="true">
          {firstLetter(visitor.email)}
        </span>
      </summary>
      <div class="panel end">
        <Visitor />
      </div>
    </details>
  );
};

/** Everything in one panel. */
const NarrowMenu = () => {
  const view = useView();
  const { visitor, navigation, languages } = view.frame;
  return (
    <details class="drop narrow-menu" name="top">
      <summary>
        <Icon name="menu" />
        {view.text('frame.menu')}
      </summary>
      <div class="panel">
        {navigation.length > 0 && (
          <nav aria-label={view.text('frame.pages')}>
            <NavigationList items={navigation} />
          </nav>
        )}
        {visitor !== null && visitor.customers.length > 1 && <CustomerForm />}
        {languages.length > 1 && <LanguageForm />}
        <Visitor />
      </div>
    </details>
  );
};

export const Header = () => {
  const { visitor, navigation } = useView().frame;
  return (
    <header class="top">
      <div class={`bar ${visitor === null ? 'plain' : ''}`.trim()}>
        <Brand />
        {navigation.length > 0 && <Navigation />}
        <div class="tools">
          <CustomerMenu />
          <LanguageMenu />
          <VisitorMenu />
        </div>
        {visitor !== null && <NarrowMenu />}
      </div>
    </header>
  );
};

/** That a member looks through the eyes of a visitor, and until when. */
export const ViewAs = () => {
  const view = useView();
  const { visitor } = view.frame;
  if (visitor === null || visitor.viewAsUntil === null) return null;
  const time = view.instant(visitor.viewAsUntil, { zone: true });
  return (
    <section class="view-as" aria-label={view.text('frame.viewAsLabel')}>
      <p>{view.text('frame.viewAs', { email: visitor.email, time })}</p>
      <SignOutForm ends />
    </section>
  );
};
