// Accepts the invitation whose token is in the link. The token moves from the URL to this tab's session
// storage, so that it survives the redirects of signing in and stays out of the history. It is removed once
// it has been used or turned out invalid.
const api = '/api/platform/v1';
const storageKey = 'invitation-token';
const part = (id) => document.getElementById(id);

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given !== null) {
    sessionStorage.setItem(storageKey, given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(storageKey);
}

/**
 * Shows one state of the page: its text, and which action it offers. The text doesn't repeat the action's
 * words.
 */
function show({ status = '', problem = '', accept = false, signIn = null, next = false }) {
  part('status').textContent = status;
  part('problem').textContent = problem;
  part('problem').hidden = problem === '';
  part('accept').hidden = !accept;
  part('accept').disabled = false;
  part('sign-in').hidden = signIn === null;
  if (signIn !== null) part('sign-in').textContent = signIn;
  part('next').hidden = !next;
  part('actions').hidden = !accept && signIn === null && !next;
}

const unreachable = 'The service cannot be reached. Check your connection and try again.';
const fail = (problem) => show({ problem });

const joined = {
  already_accepted: 'This invitation has already been accepted.',
  already_member: 'You are already a member of this organization.',
};
const closed = {
  expired: 'This invitation has expired. Ask the person who invited you for a new one.',
  revoked: 'This invitation was revoked. Ask the person who invited you for a new one.',
  no_longer_valid: 'This invitation is no longer valid. Ask the person who invited you for a new one.',
};

function showRefusal(status, error) {
  const code = error?.details?.[0]?.code;
  if (status === 401) return show({ status: 'Your session has ended.', signIn: 'Sign in again' });
  if (code === 'other_address')
    return show({
      problem: 'This invitation was sent to another e-mail address.',
      signIn: 'Sign in as someone else',
    });
  if (status === 429 || status >= 500)
    return show({ problem: 'The service is busy. Wait a moment and try again.', accept: true });
  if (status === 422 || status === 404) sessionStorage.removeItem(storageKey);
  if (status === 404)
    return fail(
      'This invitation does not exist, or a newer mail has replaced it. Use the link in the latest mail.',
    );
  if (joined[code] !== undefined) return show({ status: joined[code], next: true });
  fail(closed[code] ?? error?.message ?? 'The invitation could not be accepted.');
}

async function accept(token) {
  part('accept').disabled = true;
  let response;
  try {
    response = await fetch(`${api}/invitations/accept`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
  } catch {
    return show({ problem: unreachable, accept: true });
  }
  const body = await response.json().catch(() => null);
  if (response.ok) {
    sessionStorage.removeItem(storageKey);
    show({
      status: `You have joined ${body.organization.name} with the role ${body.role.name}.`,
      next: true,
    });
    part('title').textContent = 'Welcome';
  } else showRefusal(response.status, body?.error);
  part('title').focus();
}

async function start() {
  const token = takeToken();
  if (token === null || !/^[A-Za-z0-9_-]{43}$/.test(token))
    return fail('The link is incomplete. Open the link in the mail again, or copy all of it.');
  let response;
  try {
    response = await fetch('/auth/session');
  } catch {
    return fail(unreachable);
  }
  const { session } = response.ok ? await response.json() : {};
  if (session === undefined) return fail(unreachable);
  if (session === null)
    return show({ status: 'Use the e-mail address that the invitation was sent to.', signIn: 'Sign in' });
  part('accept').addEventListener('click', () => accept(token));
  show({ status: `You are signed in as ${session.user.email}.`, accept: true });
}

addEventListener('hashchange', () => location.reload());
await start();
