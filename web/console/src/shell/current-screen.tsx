import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { keep, readKept } from '../kept.ts';
import { Empty, Page } from '../parts/page.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { base, path, type ScreenProps } from '../router.ts';
import { findScreen, loadScreens, type Screen } from '../screens.ts';
import { unreachable } from '../service-state.ts';

/** The screen of the address. */
export function CurrentScreen() {
  const at = path.value;
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    // After a change of screen the keyboard continues at its start, as after the load of a page, unless the
    // screen has put it into a form.
    if (!first.current && !main.current?.contains(document.activeElement))
      main.current?.focus({ preventScroll: true });
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
  if (error !== undefined)
    return <Failed title="This page could not be shown" why="Its error is in the console of the browser." />;
  return found === undefined ? <NotFound /> : <Loaded {...found} />;
}

const reloaded = 'loaded the page again';

/** The screen once its code is loaded, and then, when the browser has time, that of the others. */
function Loaded({ screen, params }: { screen: Screen } & ScreenProps) {
  const [isGone, setIsGone] = useState(false);
  const isAway = unreachable.value;
  useEffect(() => {
    if (isAway) return;
    screen.load().then(
      () => {
        keep(reloaded, undefined);
        requestIdleCallback(loadScreens);
      },
      () =>
        fetch('/auth/session').then(
          () => {
            // A browser doesn't ask again for code that it didn't get, and a service that was updated has other files.
            if (readKept<boolean>(reloaded) === true) return setIsGone(true);
            keep(reloaded, true);
            location.reload();
          },
          () => {
            unreachable.value = true;
          },
        ),
    );
  }, [screen, isAway]);
  const Component = screen.component.value;
  if (Component !== undefined) return <Component params={params} />;
  return isGone ? (
    <Failed
      title="This page could not be loaded"
      why="The service may have been updated since you opened the console."
    />
  ) : (
    <Skeleton lines={8} />
  );
}

const NotFound = () => (
  <Page title="There is no such page">
    <Empty title="No screen of the console has this address.">
      <a href={base}>Go to the overview</a>
    </Empty>
  </Page>
);

const Failed = ({ title, why }: { title: string; why: string }) => (
  <Page title={title}>
    <Empty title={why}>
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </Empty>
  </Page>
);
