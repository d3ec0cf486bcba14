// What the service says about single fields of a form: each is said at its field, and once.
import { ApiError } from '../api.ts';

/** Whether a path of a problem is that of the field, or below it. Settings are named with or without their object. */
const belongs = (at: string, path: string): boolean => {
  const below = at.replace(/^(body\.)?(settings\.)?/, '');
  return below === path || below.startsWith(`${path}.`) || below.startsWith(`${path}[`);
};

/** What is said about the field with this path in the request. */
export const findProblem = (error: ApiError | undefined, path: string): string | undefined =>
  error?.details.find((detail) => belongs(detail.path, path))?.message;

/** What isn't said at one of the fields with these paths; undefined when all of it is. */
export function withoutFields(error: ApiError | undefined, paths: readonly string[]): ApiError | undefined {
  if (error === undefined) return undefined;
  const shown = new Set(paths.map((path) => error.details.find((detail) => belongs(detail.path, path))));
  const details = error.details.filter((detail) => !shown.has(detail));
  if (details.length === error.details.length) return error;
  const { status, code, message, requestId } = error;
  return details.length === 0
    ? undefined
    : new ApiError(status, { code, message, details, ...(requestId !== null && { requestId }) });
}
