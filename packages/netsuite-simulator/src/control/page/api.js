// Requests to the control interface, at this page's own origin. The token comes from the address's fragment,
// which no server sees, and is kept for this tab only.
const KEY = 'control-token';

/** Takes the token out of the address, so that neither history nor bookmarks hold it. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

export const saveToken = (token) => sessionStorage.setItem(KEY, token);

/** The interface refused the request. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function request(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${sessionStorage.getItem(KEY)}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new RequestError(response.status, answer.error.message);
  return answer;
}
