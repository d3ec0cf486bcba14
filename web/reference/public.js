// The reference of one published version, or of its draft with `?draft=true`. The version label comes from
// the page's path, the tenant id from the form or the fragment (`#tenant=…`), the key only from the form. A
// member who is signed in to the management interface reads the document with that session; sending requests
// needs a key nevertheless.
import { enableForm, part, readCredential, showConnection, showForm, showVersion } from './access.js';
import { DisplayError, descriptionPath, fetchJson, fetchResponse } from './description.js';
import { readDescription } from './renderer/model.js';
import { hideReference, showReference } from './renderer/reference.js';
import { staleFieldsNotice } from './stale-fields.js';

const path = descriptionPath();
const isDraft = new URLSearchParams(location.search).get('draft') === 'true';
const label = toLabel(path);
let session = null;

function toLabel(path) {
  const last = path.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** The credentials in use, and listeners for their changes. Kept in memory only. */
const access = {
  title: `${label} · API reference`,
  isDraft,
  serverPath: path.replace(/\/openapi\/[^/]*$/, ''),
  tenant: '',
  key: null,
  isOpeningWithSession: false,
  listeners: [],
  canSend: () => access.key !== null,
  headers: () => ({ authorization: `Bearer ${access.key}`, 'x-tenant-id': access.tenant }),
  credentials: () => 'omit',
  unauthorized: 'The key is no longer valid. Use another one.',
  createNotice: (resource) => staleFieldsNotice(resource, access),
  useKey(key) {
    access.key = key;
    part('forget').textContent = 'Use another key';
    for (const listener of access.listeners) listener();
  },
  onChange: (listener) => access.listeners.push(listener),
  removeListeners() {
    access.listeners = [];
  },
};

function explain({ status, message, reason }) {
  if (status === 401 && access.isOpeningWithSession)
    return new DisplayError('Your session has ended', 'Sign in again, or enter a key.');
  const wanted = isDraft ? `draft of version ${label}` : `version ${label}`;
  if (status === 400)
    return new DisplayError(
      'This tenant id is not valid',
      'Enter the id of your organization: 36 characters in groups of 8, 4, 4, 4 and 12.',
      'tenant',
    );
  if (status === 403 && reason === 'tenant_mismatch')
    return new DisplayError(
      'This key belongs to another tenant',
      'Check the tenant id, or use a key of that tenant.',
      'tenant',
    );
  if (status === 403 && reason === 'version_out_of_scope')
    return new DisplayError(
      `This key may not read version ${label}`,
      'It is restricted to other versions.',
      'key',
    );
  if (status === 403) return new DisplayError('You may not read this reference', `${message}.`, 'key');
  if (status === 404)
    return new DisplayError(
      `There is no ${wanted}`,
      'This tenant has published no version with that label. Check the address of this page.',
    );
  if (status === 410)
    return new DisplayError(
      `Version ${label} has been retired`,
      'It no longer serves requests; use a newer version.',
    );
  return null;
}

const tenantOfFragment = () => new URLSearchParams(location.hash.slice(1)).get('tenant');

function prefillTenant() {
  const tenant = tenantOfFragment();
  if (tenant !== null && part('access').hidden === false) part('tenant').value = tenant;
}

async function show(headers, credentials, connection) {
  const { body, headers: responseHeaders } = await fetchResponse(
    isDraft ? `${path}?draft=true` : path,
    headers,
    explain,
    credentials,
  );
  showConnection(connection);
  access.tenant = headers['x-tenant-id'];
  showReference(part('reference'), readDescription(body), access, responseHeaders);
}

/** Shows the name of the key's organization in place of its id, which stays while the name can't be read. */
async function showTenantName(authorization) {
  try {
    const { organization } = await fetchJson('/api/platform/v1/whoami', { authorization }, () => null);
    showConnection(organization.name);
  } catch {}
}

async function open() {
  const tenant = readCredential('tenant', 'tenant id');
  const authorization = `Bearer ${readCredential('key', 'API key')}`;
  await show({ authorization, 'x-tenant-id': tenant }, 'omit', `Tenant ${tenant}`);
  access.useKey(authorization.slice('Bearer '.length));
  // Record tokens are for the public interface only.
  if (!authorization.startsWith('Bearer pst_')) void showTenantName(authorization);
  part('reference').focus({ preventScroll: true });
}

async function openWithSession() {
  const { user, organization } = session;
  access.isOpeningWithSession = true;
  try {
    await show(
      { 'x-tenant-id': organization.id },
      'same-origin',
      `${user.name || user.email} at ${organization.name}`,
    );
    part('forget').textContent = 'Use tenant and key';
  } finally {
    access.isOpeningWithSession = false;
  }
}

/**
 * Goes from a session to the form. With a key it reloads the page, which clears its memory; the fragment
 * stays.
 */
function changeCredential() {
  if (access.canSend()) return location.reload();
  hideReference(part('reference'));
  showForm();
  part(part('tenant').value === '' ? 'tenant' : 'key').focus();
}

async function findSession() {
  try {
    const { body } = await fetchResponse('/auth/session', {}, () => null, 'same-origin');
    session = body.session?.organization ? body.session : null;
    part('sign-in').hidden = !body.signIn || session !== null;
    // The public interface takes no session: a member who sends requests needs a key of the same tenant.
    if (session !== null && part('tenant').value === '') part('tenant').value = session.organization.id;
  } catch {
    // Without a response the page works as if sign-in were not configured.
  }
  const wanted = tenantOfFragment();
  return session !== null && (wanted === null || wanted === session.organization.id);
}

async function start() {
  part('sign-in').querySelector('a').href =
    `/auth/login?returnTo=${encodeURIComponent(location.pathname + location.search)}`;
  const isMember = await findSession();
  const run = enableForm('Open the reference', 'Opening…', open);
  if (isMember) await run(openWithSession);
}

document.title = `${access.title} · Portal Service`;
showVersion(isDraft ? `${label} draft` : label);
prefillTenant();
addEventListener('hashchange', prefillTenant);
part('forget').addEventListener('click', changeCredential);
part(part('tenant').value === '' ? 'tenant' : 'key').focus();
await start();
