// Fetches JSON from this service and turns every failure into a message for the reader.

/** A failure to show on the page: a title, a text, and the input that caused it (`key`, `tenant` or none). */
export class DisplayError extends Error {
  constructor(title, text, field = null) {
    super(title);
    this.title = title;
    this.text = text;
    this.field = field;
  }
}

/** The path of the OpenAPI document that this page shows. */
export const descriptionPath = () => location.pathname.replace(/\/preview\/?$/, '');

/**
 * Fetches JSON from a path of this origin and returns `{body, headers}`. Throws a DisplayError; `explain`
 * returns one for the error responses that it knows. No cookies are sent unless `credentials` is
 * 'same-origin'.
 */
export async function fetchResponse(path, headers, explain, credentials = 'omit') {
  const response = await sendGet(path, headers, credentials);
  const body = await readJson(response);
  if (response.ok && body !== undefined) return { body, headers: response.headers };
  const error = body?.error ?? {};
  const failure = {
    status: response.status,
    message: error.message ?? '',
    reason: error.details?.[0]?.code ?? '',
  };
  const problem = explain(failure) ?? explainFailure(failure, response.headers.get('retry-after'));
  if (error.requestId) problem.text = `${problem.text} (request ${error.requestId})`.trim();
  throw problem;
}

/** The body alone. */
export const fetchJson = async (...given) => (await fetchResponse(...given)).body;

async function sendGet(path, headers, credentials) {
  try {
    // No response may stay in the browser's cache.
    return await fetch(path, {
      headers: { accept: 'application/json', ...headers },
      cache: 'no-store',
      credentials,
      redirect: 'error',
    });
  } catch {
    throw new DisplayError('The service cannot be reached', 'Check the network connection and try again.');
  }
}

async function readJson(response) {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

function explainFailure({ status, message }, retryAfter) {
  if (status === 401) {
    return new DisplayError(
      'This API key is not valid',
      'It may be mistyped, expired or revoked. Keys start with psk_ and are shown only once, when they are created.',
      'key',
    );
  }
  if (status === 429)
    return new DisplayError('Too many attempts', `Try again in ${retryAfter ?? 60} seconds.`);
  if (status >= 500)
    return new DisplayError('The service is temporarily unavailable', `Try again in a moment. ${message}`);
  if (status < 400)
    return new DisplayError(
      'The response cannot be read',
      'It is not valid JSON. Reload the page and try again.',
    );
  return new DisplayError(`The request failed with status ${status}`, message);
}
