// The clock, other integrations' load, the role's permissions and certificates.
import { request } from './api.js';
import { button, byId, h, hasChanged, input, label, option, readValues, select } from './dom.js';

const STEPS = [
  ['−1 hour', -3600],
  ['−5 minutes', -300],
  ['+1 hour', 3600],
  ['+1 day', 86_400],
];
const LEVELS = ['full', 'view', 'none'];

export function setUpAccount({ role, clock }, act) {
  const zone = input('timeZone', { value: clock.timeZone });
  const at = input('at', { placeholder: '2011-08-22T09:30:00Z' });
  const setClock = (body, done) => act(() => request('POST', '/clock', body), done);
  byId('clock').append(
    ...STEPS.map(([title, seconds]) =>
      button(title, () => setClock({ stepSeconds: seconds }, 'The clock is stepped.'), {
        'aria-label': `Step the clock by ${title}`,
      }),
    ),
    label('Set the clock to', at),
    button('Set', () => setClock({ at: at.value }, 'The clock is set.'), { 'aria-label': 'Set the clock' }),
    label('Time zone of the users', zone),
    button('Change', () => setClock({ timeZone: zone.value }, 'The time zone is changed.'), {
      'aria-label': 'Change the time zone',
    }),
  );
  const load = byId('load-form');
  load.append(
    label(
      'Places of the concurrency limit that others hold',
      input('concurrency', { type: 'number', min: 0, value: 0, required: true }),
    ),
    h('button', {}, 'Set load'),
  );
  load.addEventListener('submit', (event) => {
    event.preventDefault();
    act(
      () => request('POST', '/load', { concurrency: Number(readValues(load).concurrency) }),
      'The load is set.',
    );
  });
  const form = byId('role-form');
  form.append(
    ...Object.keys(role.permissions).map((name) =>
      label(
        name,
        select(
          name,
          LEVELS.map((level) => option(level)),
        ),
      ),
    ),
    h('button', { class: 'strong' }, 'Set permissions'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(() => request('POST', '/role', { permissions: readValues(form) }), 'The permissions are set.');
  });
  byId('certificates').append(
    button(
      'Revoke all certificates and tokens',
      () =>
        act(
          () => request('POST', '/certificate/revoke'),
          'All certificates are revoked. Upload a new one to sign in again.',
        ),
      { class: 'danger' },
    ),
    h('span', { id: 'certificate-count', class: 'quiet' }),
  );
}

export function showAccount({ role, load, certificates }) {
  byId('certificate-count').textContent = `${certificates.active} active`;
  // Only what changed on the account is shown again: a person may be choosing.
  const [permissions, places] = [byId('role-form'), byId('load-form')];
  if (hasChanged(permissions, role)) {
    for (const [name, level] of Object.entries(role.permissions)) permissions.elements[name].value = level;
  }
  if (hasChanged(places, load.concurrency)) places.elements.concurrency.value = load.concurrency;
}
