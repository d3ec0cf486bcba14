// What an administrator does in NetSuite's set-up pages for a service that signs in by certificate: create
// the integration record and upload the certificate. Shares the control page's token and its requests.
import { request, takeToken } from '/page/api.js';
import { button, byId, h, option } from '/page/dom.js';

const call = (method, path, body) => request(method, `/set-up${path}`, body);

/** Runs the work and shows its error, if any, above the forms. */
async function attempt(work) {
  const problem = byId('problem');
  try {
    problem.hidden = true;
    await work();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    problem.scrollIntoView({ block: 'nearest' });
  }
}

const toDay = (time) => time.slice(0, 10);

async function revoke(certificateId) {
  await call('POST', `/certificates/${encodeURIComponent(certificateId)}/revoke`, {});
  await show();
}

function describeState({ certificateId, notAfter, revokedAt }) {
  if (revokedAt !== null) return ['Revoked'];
  if (new Date(notAfter) <= new Date()) return ['Expired'];
  return [
    'Active ',
    button('Revoke', () => attempt(() => revoke(certificateId)), {
      'aria-label': `Revoke certificate ${certificateId}`,
    }),
  ];
}

const createRow = (name, certificate) =>
  h(
    'tr',
    {},
    h('td', {}, name),
    h('td', {}, h('code', {}, certificate.certificateId)),
    h('td', {}, toDay(certificate.createdAt)),
    h('td', {}, toDay(certificate.notAfter)),
    h('td', {}, ...describeState(certificate)),
  );

async function show() {
  const { account, integrations } = await call('GET', '/integrations');
  for (const id of ['account-id', 'company-account-id']) byId(id).textContent = account.id;
  byId('company-url').textContent = account.url;
  const applications = byId('upload').elements.clientId;
  const chosen = applications.value;
  // The newest first: it is the one to continue with.
  const newestFirst = integrations.toReversed();
  applications.replaceChildren(
    ...newestFirst.map(({ clientId, name, createdAt }) =>
      option(clientId, `${name} (created ${toDay(createdAt)})`),
    ),
  );
  if (integrations.some(({ clientId }) => clientId === chosen)) applications.value = chosen;
  const rows = newestFirst.flatMap(({ name, certificates }) =>
    certificates.map((certificate) => createRow(name, certificate)),
  );
  byId('certificates').replaceChildren(...rows);
}

byId('create').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  attempt(async () => {
    const { clientId } = await call('POST', '/integrations', { name: form.elements.name.value.trim() });
    byId('client-id').textContent = clientId;
    byId('created').hidden = false;
    form.reset();
    await show();
    byId('upload').elements.clientId.value = clientId;
  });
});

byId('upload').addEventListener('submit', (event) => {
  event.preventDefault();
  const { clientId, certificatePem, file } = event.currentTarget.elements;
  attempt(async () => {
    // Copied from a JSON response, a certificate has \n where its lines end.
    const body = { certificatePem: certificatePem.value.replaceAll('\\n', '\n').trim() };
    const { certificateId } = await call(
      'POST',
      `/integrations/${encodeURIComponent(clientId.value)}/certificates`,
      body,
    );
    byId('certificate-id').textContent = certificateId;
    byId('uploaded').hidden = false;
    certificatePem.value = '';
    file.value = '';
    await show();
  });
});

byId('upload').elements.file.addEventListener('change', (event) => {
  const [file] = event.currentTarget.files;
  if (!file) return;
  attempt(async () => {
    byId('upload').elements.certificatePem.value = await file.text();
  });
});

takeToken();
attempt(show);
