// The forms of the menus: another customer, another language, sign-out. Each choice is a button that sends it.
import { pageAddress } from '../addresses.ts';
import { languageName } from '../texts.ts';
import { useView } from '../view.ts';

const ReturnTo = () => <input type="hidden" name="returnTo" value={useView().frame.here} />;

export const CustomerForm = () => {
  const view = useView();
  const { visitor, base } = view.frame;
  return (
    <form class="choices" method="post" action={pageAddress(base, 'customer')}>
      <ReturnTo />
      <p class="choices-title">{view.text('frame.customer')}</p>
      <div class="choices-list">
        {visitor?.customers.map(({ id, name }) => (
          <button
            type="submit"
            key={id}
            class="choice"
            name="customer"
            value={id}
            aria-current={id === visitor.customer?.id ? 'true' : undefined}
          >
            {name}
          </button>
        ))}
      </div>
    </form>
  );
};

export const LanguageForm = () => {
  const view = useView();
  const { languages, base } = view.frame;
  return (
    <form class="choices languages" method="post" action={pageAddress(base, 'language')}>
      <ReturnTo />
      <p class="choices-title">{view.text('language.label')}</p>
      <div class="choices-list">
        {languages.map((language) => (
          <button
            type="submit"
            key={language}
            class="choice"
            name="language"
            value={language}
            lang={language}
            aria-current={language === view.language ? 'true' : undefined}
          >
            {languageName(language)}
          </button>
        ))}
      </div>
    </form>
  );
};

/** `ends`: the sign-in of a member who sees the portal as a visitor. */
export const SignOutForm = ({ ends = false }: { ends?: boolean }) => {
  const view = useView();
  return (
    <form method="post" action={pageAddress(view.frame.base, 'sign-out')}>
      <button type="submit" class={ends ? 'button' : 'choice'}>
        {view.text(ends ? 'frame.endViewAs' : 'frame.signOut')}
      </button>
    </form>
  );
};
