// What went wrong with an object, in the terms of the file.
import { UsageError } from '../cli/settings.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { pathInFile } from './references.ts';

/** With the label of the object, and the problems by their paths. What isn't a failure of a request stays as it is. */
export function toFailure(label: string, error: unknown): unknown {
  if (error instanceof ApiError) {
    const details = error.details.map(
      ({ path, message }) => `  ${path === '' ? '' : `${pathInFile(path)}: `}${message}`,
    );
    const first = `${label}: ${error.message} (${error.status}, request ${error.requestId ?? 'unknown'})`;
    return new UsageError([first, ...details].join('\n'));
  }
  if (error instanceof ConnectionError || error instanceof UsageError)
    return new UsageError(`${label}: ${error.message}`);
  return error;
}
