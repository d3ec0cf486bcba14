// The page that tells a person in a browser why signing in failed, with a button to try again.
import type { Response } from 'express';
import type { AppError } from '../../core/errors.ts';
import { startAgain } from '../../identity/provider.ts';
import { sendErrorPage } from './error-page.ts';

/** As someone else when this person has no access; nothing to try when sign-in isn't configured. */
function retry({ status }: AppError) {
  if (status === 404) return undefined;
  if (status === 403) return { label: 'Sign in as someone else', path: '/auth/login?prompt=login' };
  return { label: 'Sign in again', path: '/auth/login' };
}

export function sendSignInError(res: Response, problem: AppError): void {
  const [detail] = problem.details;
  const action = retry(problem);
  // The button says how to start again.
  const reason = detail === undefined || detail.code === 'unavailable' || detail.message === startAgain ? undefined : detail.message;
  sendErrorPage(res, problem, { reason, ...(action !== undefined && { action }) });
}
