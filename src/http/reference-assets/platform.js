// The reference of the management interface. Its description is open to everyone; a session or a key is only for trying requests
// out. A key in use wins over the session, whose cookie this page never sees.
import { enableForm, hideProblem, part, readCredential, showConnection, showForm, showProblem, showVersion } from './access.js';
import { descriptionPath, fetchJson, Problem } from './description.js';
import { loadViewer, showReference } from './viewer.js';

const path = descriptionPath();
const serverPath = path.replace(/\/openapi$/, '');
let headers = {};
/** Who is signed in; null for nobody. */
let session = null;

const explain = ({ status, message }) => (status === 403 ? new Problem('This key may not be used here', message, 'key') : null);

const showWho = (text, { other, isSession }) => {
  showConnection(text);
  part('forget').textContent = other;
  part('sign-out').hidden = !isSession;
};

function showSession() {
  const { user, organization } = session;
  const where = organization === null ? ', no organization chosen' : ` at ${organization.name}`;
  showWho(`Signed in as ${user.name || user.email}${where}`, { other: 'Use a key', isSession: true });
}

async function useKey() {
  const offered = { authorization: `Bearer ${readCredential('key', 'API key')}` };
  const { user, organization } = await fetchJson(`${serverPath}/whoami`, offered, explain);
  headers = offered;
  showWho(`${user.name || user.email} at ${organization.name}`, {
    other: session === null ? 'Use another key' : 'Back to the session',
    isSession: false,
  });
  part('forget').focus();
}

/** From a key back to the session, if there is one; else to the form. */
function changeCredential() {
  const hadKey = headers.authorization !== undefined;
  headers = {};
  hideProblem();
  if (hadKey && session !== null) showSession();
  else showForm();
}

async function signOut() {
  try {
    const response = await fetch('/auth/logout', { method: 'POST', credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    // The provider has a session of its own, and its page asks whether that ends too.
    const next = response.headers.get('location');
    if (next !== null) return location.assign(next);
    session = null;
    changeCredential();
  } catch (error) {
    part('access').hidden = false;
    showProblem(new Problem('You could not be signed out', `Try again in a moment (${error.message}).`));
  }
}

async function lookForSession() {
  try {
    const here = await fetchJson('/auth/session', {}, () => null, 'same-origin');
    session = here.session;
    part('sign-in').hidden = !here.signIn;
    if (session !== null && headers.authorization === undefined) showSession();
  } catch {
    // Without an answer the page works as if nobody could sign in.
  }
}

async function start() {
  try {
    const [description, viewer] = await Promise.all([fetchJson(path, {}, explain), loadViewer(), lookForSession()]);
    showVersion(description.info.version);
    showReference(viewer, part('reference'), { description, serverPath, headersOf: () => headers, credentials: 'same-origin' });
  } catch (problem) {
    showProblem(problem);
  } finally {
    part('progress').textContent = '';
  }
}

part('forget').addEventListener('click', changeCredential);
part('sign-out').addEventListener('click', signOut);
enableForm('Use this key', 'Checking…', useKey);
await start();
