// Fetches from this service and turns every failure into words for the reader.

/** A failure that the page shows: a title, a text, and the input it is about (`key`, `tenant` or none). */
export class Problem extends Error {
  constructor(title, text, field = null) {
    super(title);
    this.title = title;
    this.text = text;
    this.field = field;
  }
}

/** The address of the description that the page at this address shows. */
export const descriptionPath = () => location.pathname.replace(/\/preview\/?$/, '');

/**
 * Answers `{body, headers}` of the JSON at a path of this origin. Throws a Problem; `explain` words the refusals it knows. Cookies
 * stay out of it unless `credentials` is 'same-origin'.
 */
export async function fetchAnswer(path, headers, explain, credentials = 'omit') {
  const response = await sendGet(path, headers, credentials);
  const body = await readJson(response);
  if (response.ok && body !== undefined) return { body, headers: response.headers };
  const error = body?.error ?? {};
  const refusal = { status: response.status, message: error.message ?? '', reason: error.details?.[0]?.code ?? '' };
  const problem = explain(refusal) ?? explainRefusal(refusal, response.headers.get('retry-after'));
  if (error.requestId) problem.text = `${problem.text} (request ${error.requestId})`.trim();
  throw problem;
}

/** The body alone. */
export const fetchJson = async (...given) => (await fetchAnswer(...given)).body;

async function sendGet(path, headers, credentials) {
  try {
    // Nothing of an answer is left in the browser's cache.
    return await fetch(path, {
      headers: { accept: 'application/json', ...headers },
      cache: 'no-store',
      credentials,
      redirect: 'error',
    });
  } catch {
    throw new Problem('The service cannot be reached', 'Check the network connection and try again.');
  }
}

async function readJson(response) {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

function explainRefusal({ status, message }, retryAfter) {
  if (status === 401) {
    return new Problem(
      'This API key is not valid',
      'It may be mistyped, expired or revoked. Keys start with psk_ and are shown once, when they are made.',
      'key',
    );
  }
  if (status === 429) return new Problem('Too many attempts', `Try again in ${retryAfter ?? 60} seconds.`);
  if (status >= 500) return new Problem('The service cannot answer right now', `Try again in a moment. ${message}`);
  if (status < 400) return new Problem('The answer cannot be read', 'It is not the JSON that was expected. Reload the page and try again.');
  return new Problem(`The service refused the request with status ${status}`, message);
}
