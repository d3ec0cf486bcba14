// The page that tells a person in a browser why signing in failed, with a button to try again.
import type { Response } from 'express';
import type { AppError } from '../../core/errors.ts';
import { startAgain } from '../../identity/provider.ts';
import { detailForPage, sendErrorPage } from './error-page.ts';
import type { SmallPageFiles } from './small-page.ts';

/** As someone else when this person has no access; nothing to try where there is no page to sign in. */
function retry({ status }: AppError, hasPage: boolean) {
  if (status === 404 || !hasPage) return undefined;
  if (status === 403) return { label: 'Sign in as someone else', path: '/auth/login?prompt=login' };
  return { label: 'Sign in again', path: '/auth/login' };
}

export function sendSignInError(res: Response, problem: AppError, hasPage: boolean, files: SmallPageFiles) {
  const reason = problem.details[0]?.code === 'unavailable' ? undefined : detailForPage(problem);
  // The button says how to start again.
  sendErrorPage(
    res,
    problem,
    {
      reason: reason === startAgain ? undefined : reason,
      action: retry(problem, hasPage),
    },
    files,
  );
}
