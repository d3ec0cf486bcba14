// The reference of the management interface. Its OpenAPI document is public; a session or an API key is
// needed only to try requests out. A key takes precedence over the session, whose cookie this page never
// sees.
import {
  enableForm,
  hideProblem,
  part,
  readCredential,
  showConnection,
  showForm,
  showProblem,
  showVersion,
} from './access.js';
import { DisplayError, descriptionPath, fetchJson } from './description.js';
import { readDescription } from './renderer/model.js';
import { showReference } from './renderer/reference.js';

const path = descriptionPath();
const serverPath = path.replace(/\/openapi$/, '');
let headers = {};
/** The signed-in user and organization; null when signed out. */
let session = null;

/**
 * What the reference needs to send requests. Without credentials they are sent too, since a few operations
 * need none.
 */
const access = {
  title: 'Management API reference',
  serverPath,
  isDraft: false,
  canSend: () => true,
  headers: () => headers,
  credentials: () => (headers.authorization === undefined ? 'same-origin' : 'omit'),
  unauthorized: 'Sign in or enter an API key at the top of this page.',
  onChange() {},
  removeListeners() {},
};

const explain = ({ status, message }) =>
  status === 403 ? new DisplayError('This key cannot be used here', message, 'key') : null;

const showWho = (text, { other, isSession }) => {
  showConnection(text);
  part('forget').textContent = other;
  part('sign-out').hidden = !isSession;
};

const personText = ({ user, organization }) =>
  `${user.name || user.email || 'API key'}${organization === null ? ', no organization chosen' : ` at ${organization.name}`}`;

function showSession() {
  showWho(`Signed in as ${personText(session)}`, { other: 'Use a key', isSession: true });
}

async function useKey() {
  const offered = { authorization: `Bearer ${readCredential('key', 'API key')}` };
  const caller = await fetchJson(`${serverPath}/whoami`, offered, explain);
  headers = offered;
  showWho(personText(caller), {
    other: session === null ? 'Use another key' : 'Back to the session',
    isSession: false,
  });
  part('forget').focus();
}

/** Goes back from a key to the session if there is one, otherwise to the form. */
function changeCredential() {
  const hadKey = headers.authorization !== undefined;
  headers = {};
  hideProblem();
  if (hadKey && session !== null) showSession();
  else showForm();
}

async function signOut() {
  try {
    const response = await fetch('/auth/logout', {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    // The identity provider has its own session, and its page asks whether to end that too.
    const next = response.headers.get('location');
    if (next !== null) return location.assign(next);
    session = null;
    changeCredential();
  } catch (error) {
    part('access').hidden = false;
    showProblem(new DisplayError('Signing out failed', `Try again in a moment (${error.message}).`));
  }
}

async function findSession() {
  try {
    const here = await fetchJson('/auth/session', {}, () => null, 'same-origin');
    session = here.session;
    part('sign-in').hidden = !here.signIn;
    if (session !== null && headers.authorization === undefined) showSession();
  } catch {
    // Without a response the page works as if sign-in were not configured.
  }
}

async function start() {
  try {
    const [description] = await Promise.all([fetchJson(path, {}, explain), findSession()]);
    showVersion(description.info.version);
    showReference(part('reference'), readDescription(description, 'groups'), access);
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
