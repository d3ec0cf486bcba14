import { ApiError } from '../api-error.ts';

/** The value of a field that holds JSON. Throws an ApiError that names the field. */
export function parseJson<T>(label: string, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new ApiError(0, {
      message: `${label} is not valid JSON: ${error instanceof Error ? error.message : ''}`,
    });
  }
}
