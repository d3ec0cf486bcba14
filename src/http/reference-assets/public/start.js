// The reference of one published version, or of its draft with `?draft=true`. The label comes from the page's address, the tenant id
// perhaps from its fragment (`#tenant=…`), the key only from the form. Whoever is signed in at the management interface reads the
// description by that session; requests are sent with a key all the same.
import { enableForm, part, readCredential, showConnection, showForm, showVersion } from '../access.js';
import { descriptionPath, fetchAnswer, Problem } from '../description.js';
import { readDescription } from './model.js';
import { hideReference, showReference } from './reference.js';

const path = descriptionPath();
const isDraft = new URLSearchParams(location.search).get('draft') === 'true';
const label = labelOf(path);
let session = null;

function labelOf(address) {
  const last = address.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Who sends requests, and who wants to know when that changes. Memory only. */
const access = {
  label,
  isDraft,
  serverPath: path.replace(/\/openapi\/[^/]*$/, ''),
  tenant: '',
  key: null,
  isOpeningBySession: false,
  listeners: [],
  hasKey: () => access.key !== null,
  headers: () => ({ authorization: `Bearer ${access.key}`, 'x-tenant-id': access.tenant }),
  useKey(key) {
    access.key = key;
    part('forget').textContent = 'Use another key';
    for (const listener of access.listeners) listener();
  },
  onChange: (listener) => access.listeners.push(listener),
  forgetListeners() {
    access.listeners = [];
  },
};

function explain({ status, message, reason }) {
  if (status === 401 && access.isOpeningBySession) return new Problem('Your session has ended', 'Sign in again, or enter a key.');
  const wanted = isDraft ? `draft of version ${label}` : `version ${label}`;
  if (status === 400)
    return new Problem(
      'This tenant id is not valid',
      'It is the id of your organization: 36 characters in groups of 8, 4, 4, 4 and 12.',
      'tenant',
    );
  if (status === 403 && reason === 'tenant_mismatch')
    return new Problem('This key belongs to another tenant', 'Check the tenant id, or use a key of that tenant.', 'tenant');
  if (status === 403 && reason === 'version_out_of_scope')
    return new Problem(`This key may not read version ${label}`, 'It is restricted to other versions.', 'key');
  if (status === 403) return new Problem('This description may not be read', `${message}.`, 'key');
  if (status === 404)
    return new Problem(`There is no ${wanted}`, 'This tenant has published nothing under that label. Check the address of this page.');
  if (status === 410) return new Problem(`Version ${label} has been retired`, 'Its answers have ended; move to a newer version.');
  return null;
}

const tenantOfFragment = () => new URLSearchParams(location.hash.slice(1)).get('tenant');

function prefillTenant() {
  const tenant = tenantOfFragment();
  if (tenant !== null && part('access').hidden === false) part('tenant').value = tenant;
}

async function show(headers, credentials, connection) {
  const { body, headers: told } = await fetchAnswer(isDraft ? `${path}?draft=true` : path, headers, explain, credentials);
  showConnection(connection);
  access.tenant = headers['x-tenant-id'];
  showReference(part('reference'), readDescription(body), access, told);
}

async function open() {
  const tenant = readCredential('tenant', 'tenant id');
  const key = readCredential('key', 'API key');
  await show({ authorization: `Bearer ${key}`, 'x-tenant-id': tenant }, 'omit', `Tenant ${tenant}`);
  access.useKey(key);
  part('reference').focus({ preventScroll: true });
}

async function openBySession() {
  const { user, organization } = session;
  access.isOpeningBySession = true;
  try {
    await show({ 'x-tenant-id': organization.id }, 'same-origin', `${user.name || user.email} at ${organization.name}`);
    part('forget').textContent = 'Use tenant and key';
  } finally {
    access.isOpeningBySession = false;
  }
}

/** From a session to the form. From a key to a reload, which drops all that the page has in memory; the fragment stays. */
function changeCredential() {
  if (access.hasKey()) return location.reload();
  hideReference(part('reference'));
  showForm();
  part('tenant').focus();
}

async function lookForSession() {
  try {
    const { body } = await fetchAnswer('/auth/session', {}, () => null, 'same-origin');
    session = body.session?.organization ? body.session : null;
    part('sign-in').hidden = !body.signIn || session !== null;
  } catch {
    // Without an answer the page works as if nobody could sign in.
  }
  const wanted = tenantOfFragment();
  return session !== null && (wanted === null || wanted === session.organization.id);
}

async function start() {
  part('sign-in').querySelector('a').href = `/auth/login?returnTo=${encodeURIComponent(location.pathname + location.search)}`;
  const isMember = await lookForSession();
  const run = enableForm('Open the reference', 'Opening…', open);
  if (isMember) await run(openBySession);
}

document.title = `${label} · API reference · Portal Service`;
showVersion(isDraft ? `${label} draft` : label);
prefillTenant();
addEventListener('hashchange', prefillTenant);
part('forget').addEventListener('click', changeCredential);
part(part('tenant').value === '' ? 'tenant' : 'key').focus();
await start();
