import type { ApiError } from '../api.ts';

/** What went wrong, in the service's own words, with the id that finds the request in its log. */
export function Problem({
  error,
  retry,
  retryLabel = 'Try again',
}: {
  error: ApiError | undefined | null;
  retry?: (() => void) | undefined;
  retryLabel?: string;
}) {
  if (!error) return null;
  const details = error.details.filter(({ path, message }) => path !== '' || message !== error.message);
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{error.message}</strong>
      </p>
      {details.length > 0 && (
        <ul>
          {details.slice(0, 20).map((detail) => (
            <li key={`${detail.path} ${detail.code} ${detail.message}`}>
              {detail.path !== '' && <code>{detail.path}</code>} {detail.message}
            </li>
          ))}
          {details.length > 20 && <li>and {details.length - 20} more</li>}
        </ul>
      )}
      <p class="fine">
        {error.requestId !== null && (
          <>
            Request <code>{error.requestId}</code>
          </>
        )}
        {retry !== undefined && (
          <button type="button" class="link" onClick={retry}>
            {retryLabel}
          </button>
        )}
      </p>
    </div>
  );
}
