// Signing in: the address, the code, and what a browser shows that has asked for none.
import type { CodePage, FormProblem, SignInPage } from '../../../../src/portal/view-model.ts';
import { pageAddress } from '../addresses.ts';
import { useView } from '../view.ts';

const Problem = ({ problem: { code, minutes, tries } }: { problem: FormProblem }) => {
  const view = useView();
  const sentences = [
    view.text(`form.${code}`),
    ...(tries === undefined ? [] : [view.text('form.tries', { tries })]),
    ...(minutes === undefined ? [] : [view.text('form.minutes', { minutes })]),
  ];
  return (
    <p class="problem" id="problem" role="alert">
      {sentences.join(' ')}
    </p>
  );
};

/** What an input says of itself when its form had a problem. */
const markInvalid = (problem: FormProblem | null) =>
  problem === null ? {} : { 'aria-invalid': 'true' as const, 'aria-describedby': 'problem' };

const Demo = ({ email, returnTo }: { email: string; returnTo: string }) => {
  const view = useView();
  return (
    <form class="demo" method="post" action={pageAddress(view.frame.base, 'demo')}>
      <input type="hidden" name="returnTo" value={returnTo} />
      <p>{view.text('sign-in.demoSays')}</p>
      <button type="submit" class="button">
        {view.text('sign-in.demo', { email })}
      </button>
    </form>
  );
};

/** A link, since the policy of the page lets forms lead nowhere else. */
const AtProvider = ({ label, returnTo }: { label: string; returnTo: string }) => {
  const view = useView();
  const address = pageAddress(view.frame.base, 'sign-in/provider');
  return (
    <div class="entry">
      <a class="button" href={`${address}?returnTo=${encodeURIComponent(returnTo)}`}>
        {view.text('sign-in.with', { label })}
      </a>
    </div>
  );
};

export const SignIn = ({ page }: { page: SignInPage }) => {
  const { email, returnTo, problem, demo, provider } = page;
  const view = useView();
  const { brand, base } = view.frame;
  return (
    <div class="card-text stack">
      <h1>{view.text('sign-in.title')}</h1>
      <p class="muted">{view.text('sign-in.says', { company: brand.name })}</p>
      {problem !== null && <Problem problem={problem} />}
      <form class="entry" method="post" action={pageAddress(base, 'sign-in')}>
        <input type="hidden" name="returnTo" value={returnTo} />
        <label for="email">{view.text('sign-in.email')}</label>
        <input
          id="email"
          type="email"
          name="email"
          value={email}
          autoComplete="email"
          required
          {...markInvalid(problem)}
        />
        <button type="submit" class="button primary">
          {view.text('sign-in.send')}
        </button>
      </form>
      {provider !== null && <AtProvider label={provider} returnTo={returnTo} />}
      {demo !== null && <Demo email={demo.email} returnTo={returnTo} />}
    </div>
  );
};

const CodeForm = ({ email, problem }: { email: string; problem: FormProblem | null }) => {
  const view = useView();
  const { brand, base } = view.frame;
  return (
    <>
      <p class="muted">{view.text('code.says', { company: brand.name, email })}</p>
      {problem !== null && <Problem problem={problem} />}
      <form class="entry" method="post" action={pageAddress(base, 'code')}>
        <label for="code">{view.text('code.label')}</label>
        <input
          id="code"
          class="code"
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          {...markInvalid(problem)}
        />
        <button type="submit" class="button primary">
          {view.text('sign-in.title')}
        </button>
      </form>
      <p class="fine">
        {view.text('code.noMail')} <a href={pageAddress(base, 'sign-in')}>{view.text('code.another')}</a>
      </p>
    </>
  );
};

export const Code = ({ page: { email, problem } }: { page: CodePage }) => {
  const view = useView();
  return (
    <div class="card-text stack">
      <h1>{view.text('code.title')}</h1>
      {email === null ? (
        <>
          <p>{view.text('code.notAsked')}</p>
          <p>
            <a class="button primary" href={pageAddress(view.frame.base, 'sign-in')}>
              {view.text('code.another')}
            </a>
          </p>
        </>
      ) : (
        <CodeForm email={email} problem={problem} />
      )}
    </div>
  );
};

export const OtherBrowser = () => {
  const view = useView();
  return (
    <div class="card-text stack">
      <h1>{view.text('other-browser.title')}</h1>
      <p>{view.text('other-browser.says')}</p>
      <p>
        <a class="button" href={pageAddress(view.frame.base, 'sign-in')}>
          {view.text('other-browser.here')}
        </a>
      </p>
    </div>
  );
};
