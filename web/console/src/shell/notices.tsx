import { useEffect } from 'preact/hooks';
import { invalidate } from '../query.ts';
import { signInAddress } from '../router.ts';
import { limitedReads, sessionEnded, unreachable } from '../service-state.ts';
import { checkSession } from '../session.ts';

const retryMs = 5_000;

/** While the service doesn't answer, asks whether it is back, and then reads again what is shown. */
function useRecovery(isAway: boolean): void {
  useEffect(() => {
    if (!isAway) return;
    const probe = async (): Promise<void> => {
      const isBack = await fetch('/auth/session').then(
        ({ ok }) => ok,
        () => false,
      );
      if (!isBack) return;
      unreachable.value = false;
      await invalidate('');
    };
    const timer = setInterval(() => void probe(), retryMs);
    const onOnline = (): void => void probe();
    addEventListener('online', onOnline);
    return () => {
      clearInterval(timer);
      removeEventListener('online', onOnline);
    };
  }, [isAway]);
}

/**
 * Another tab may have signed out or in, or chosen another organization, while this one was in the
 * background.
 */
function useSessionOfOtherTabs(): void {
  useEffect(() => {
    const check = (): void => {
      if (!document.hidden) void checkSession();
    };
    document.addEventListener('visibilitychange', check);
    return () => document.removeEventListener('visibilitychange', check);
  }, []);
}

/** Above every screen: says why what it shows can't be current, and what to do. */
export function Notices() {
  useRecovery(unreachable.value);
  useSessionOfOtherTabs();
  return (
    <div class="notices">
      {sessionEnded.value && (
        <p role="alert">
          <span>
            <strong>Your session has ended.</strong> To keep what you typed here, sign in in another tab and
            come back.
          </span>
          <a class="button" href={signInAddress()}>
            Sign in
          </a>
        </p>
      )}
      {unreachable.value && (
        <p role="alert">
          <span>
            <strong>The service does not answer.</strong> What you see was read before; it is read again once
            the service is back.
          </span>
        </p>
      )}
      {limitedReads.value > 0 && (
        <p role="status">
          <span>
            <strong>Too many requests in this minute.</strong> Reading goes on within a minute.
          </span>
        </p>
      )}
    </div>
  );
}
