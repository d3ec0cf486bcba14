import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { Empty, Page } from '../parts/page.tsx';
import { base, path } from '../router.ts';
import { findScreen } from '../screens.ts';

/** The screen of the address. */
export function CurrentScreen() {
  const at = path.value;
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    // After a change of screen the keyboard continues at its start, as after the load of a page.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [at]);
  return (
    <main id="main" tabIndex={-1} ref={main}>
      <Guarded key={at} at={at} />
    </main>
  );
}

function Guarded({ at }: { at: string }) {
  const [error] = useErrorBoundary((failure) => console.error(failure));
  const found = findScreen(at);
  if (error !== undefined) return <Broken />;
  return found === undefined ? <NotFound /> : <found.Component params={found.params} />;
}

const NotFound = () => (
  <Page title="There is no such page">
    <Empty title="No screen of the console has this address.">
      <a href={base}>Go to the overview</a>
    </Empty>
  </Page>
);

const Broken = () => (
  <Page title="This page could not be shown">
    <Empty title="The page failed. Its error is in the console of the browser.">
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </Empty>
  </Page>
);
