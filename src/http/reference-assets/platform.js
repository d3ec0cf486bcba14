// The reference of the management interface. Its description is open to everyone; a key is only for trying requests out.
import { enableForm, part, readCredential, showConnection, showForm, showProblem, showVersion } from './access.js';
import { descriptionPath, fetchJson, Problem } from './description.js';
import { loadViewer, showReference } from './viewer.js';

const path = descriptionPath();
const serverPath = path.replace(/\/openapi$/, '');
let headers = {};

const explain = ({ status, message }) => (status === 403 ? new Problem('This key may not be used here', message, 'key') : null);

async function useKey() {
  const offered = { authorization: `Bearer ${readCredential('key', 'API key')}` };
  const { user, organization } = await fetchJson(`${serverPath}/whoami`, offered, explain);
  headers = offered;
  showConnection(`${user.name || user.email} at ${organization.name}`);
  part('forget').focus();
}

function forget() {
  headers = {};
  showForm();
}

async function start() {
  try {
    const [description, viewer] = await Promise.all([fetchJson(path, {}, explain), loadViewer()]);
    showVersion(description.info.version);
    showReference(viewer, part('reference'), { description, serverPath, headersOf: () => headers });
  } catch (problem) {
    showProblem(problem);
  } finally {
    part('progress').textContent = '';
  }
}

part('forget').addEventListener('click', forget);
enableForm('Use this key', 'Checking…', useKey);
await start();
