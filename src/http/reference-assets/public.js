// The reference of one published version, or of its draft with `?draft=true`. The label comes from the page's address, the
// tenant id perhaps from its fragment (`#tenant=…`), the key only from the form.
import { enableForm, part, readCredential, showConnection, showVersion } from './access.js';
import { descriptionPath, fetchJson, Problem } from './description.js';
import { loadViewer, showReference } from './viewer.js';

const path = descriptionPath();
const isDraft = new URLSearchParams(location.search).get('draft') === 'true';
const label = labelOf(path);
const serverPath = path.replace(/\/openapi\/[^/]*$/, '');

function labelOf(address) {
  const last = address.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function explain({ status, message, reason }) {
  const wanted = isDraft ? `a draft of version ${label}` : `version ${label}`;
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
  if (status === 403) return new Problem('This key may not read this description', `${message}.`, 'key');
  if (status === 404)
    return new Problem(
      `There is no ${wanted.replace(/^a /, '')}`,
      'This tenant has published nothing under that label. Check the address of this page.',
    );
  if (status === 410) return new Problem(`Version ${label} has been retired`, 'Its answers have ended; move to a newer version.');
  return null;
}

function prefillTenant() {
  const tenant = new URLSearchParams(location.hash.slice(1)).get('tenant');
  if (tenant !== null && part('access').hidden === false) part('tenant').value = tenant;
}

async function open() {
  const tenant = readCredential('tenant', 'tenant id');
  const headers = { authorization: `Bearer ${readCredential('key', 'API key')}`, 'x-tenant-id': tenant };
  const [description, viewer] = await Promise.all([fetchJson(isDraft ? `${path}?draft=true` : path, headers, explain), loadViewer()]);
  showConnection(`Tenant ${tenant}`);
  showReference(viewer, part('reference'), { description, serverPath, headersOf: () => headers });
  part('reference').focus();
}

function forget() {
  // A reload drops everything that the page has in memory; the tenant id comes back from the fragment, if it stood there.
  part('reference').replaceChildren();
  location.reload();
}

document.title = `${label} · API reference · Portal Service`;
showVersion(isDraft ? `${label} draft` : label);
prefillTenant();
addEventListener('hashchange', prefillTenant);
part('forget').addEventListener('click', forget);
enableForm('Open the reference', 'Opening…', open);
part(part('tenant').value === '' ? 'tenant' : 'key').focus();
loadViewer().catch(() => undefined);
