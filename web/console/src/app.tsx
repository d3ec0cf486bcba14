// The frame of every screen: navigation, organization, person, theme; and what a person sees who isn't signed
// in or has no organization.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import mark from '../../shared/icon.svg';
import { type ApiError, toApiError } from './api.ts';
import { Icon } from './parts/icon.tsx';
import { Page } from './parts/page.tsx';
import { Problem } from './parts/problem.tsx';
import { base, signInAddress } from './router.ts';
import { limitedReads, unreachable } from './service-state.ts';
import { readSession, sessionState } from './session.ts';
import { CurrentScreen } from './shell/current-screen.tsx';
import { FirstOrganization } from './shell/first-organization.tsx';
import { HelpLinks, Navigation } from './shell/navigation.tsx';
import { Notices } from './shell/notices.tsx';
import { Palette, PaletteButton } from './shell/palette.tsx';
import { PersonMenu } from './shell/person-menu.tsx';

function Frame() {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return;
      setOpen(false);
      button.current?.focus();
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [open]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <aside class="side" data-open={open}>
        <div class="side-head">
          <a class="product" href={base}>
            <img src={mark} alt="" width="28" height="28" />
            Portal Service
          </a>
          <button
            type="button"
            class="menu-button"
            ref={button}
            aria-expanded={open}
            aria-controls="menu"
            onClick={() => setOpen(!open)}
          >
            <Icon name="menu" />
            Menu
          </button>
        </div>
        <div class="side-body" id="menu">
          <div>
            <PaletteButton />
            <Navigation onChosen={() => setOpen(false)} />
          </div>
          <div>
            <HelpLinks />
            <PersonMenu />
          </div>
        </div>
      </aside>
      <Palette />
      <div class="content">
        <Notices />
        <CurrentScreen />
      </div>
    </div>
  );
}

export function App() {
  const [error, setError] = useState<ApiError>();
  const read = (): void => {
    setError(undefined);
    readSession().catch((problem: unknown) => setError(toApiError(problem)));
  };
  const isAway = unreachable.value;
  // At once: other effects wait for a frame.
  useLayoutEffect(() => {
    if (!isAway && sessionState.peek() === null) read();
  }, [isAway]);
  const state = sessionState.value;
  if (state?.session?.organization) return <Frame />;
  return (
    <>
      <Notices />
      <main class="alone">
        {state === null ? (
          <>
            {(error !== undefined || limitedReads.value > 0) && <h1>Portal Service</h1>}
            <Problem error={error} retry={read} />
          </>
        ) : state.session === null ? (
          <SignIn possible={state.signIn} />
        ) : (
          <FirstOrganization user={state.session.user} />
        )}
      </main>
    </>
  );
}

const SignIn = ({ possible }: { possible: boolean }) => (
  <>
    <Page title="Sign in to the console" />
    {possible ? (
      <>
        <p>Connect your ERP, choose what is synced, and publish it.</p>
        <p>
          <a class="button primary" href={signInAddress()}>
            Sign in
          </a>
        </p>
      </>
    ) : (
      <p>The start page says how to sign in to this service.</p>
    )}
    <p>
      <a href="/">Start page</a>
    </p>
  </>
);
