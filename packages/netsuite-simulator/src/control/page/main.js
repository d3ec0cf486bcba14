// Starts the page: takes the token, then shows the account's state and keeps it fresh.
import { setUpAccount, showAccount } from './account.js';
import { request, saveToken, takeToken } from './api.js';
import { byId, h, renderOnChange } from './dom.js';
import { setUpFaults, showFaults } from './faults.js';
import { setUpFields, showFields } from './fields.js';
import { setUpHidden, showHidden } from './hidden.js';
import { setUpRecords } from './records.js';

const POLL_MS = 2000;
let tables;
let lastAction = Promise.resolve();

/** Shows the outcome of what a person did. */
function say(text, isBad = false) {
  const message = byId('message');
  message.textContent = text;
  message.classList.toggle('bad', isBad);
}

/**
 * Runs an action, and shows the state afterwards, or why it was refused. Actions run one at a time: each
 * changes the lists that the previous one put.
 */
function act(work, done) {
  lastAction = lastAction.then(() => runAction(work, done));
  return lastAction;
}

async function runAction(work, done) {
  try {
    await work();
    show(await request('GET', '/state'));
    say(done);
  } catch (error) {
    if (error.status === 401) askForToken();
    say(error.message, true);
  }
}

function show(state) {
  byId('account-id').textContent = state.account.id;
  byId('account-address').textContent = state.account.url;
  showGlance(state);
  showFaults(state, act);
  showHidden(state, act);
  showAccount(state);
  showFields(state, act);
  showRequests(state);
}

function showGlance({ hidden, faults, clock, load, role, requests }) {
  const columns = Object.entries(hidden.columns).flatMap(([table, names]) =>
    names.map((name) => `${table}.${name}`),
  );
  const rows = Object.entries(hidden.rows).flatMap(([table, ids]) => ids.map((id) => `${table} ${id}`));
  const missing = [
    ...Object.entries(role.permissions),
    ...Object.entries(role.restrictions.transactionTypes),
  ].filter(([, level]) => level !== 'full');
  const restricted = ['subsidiaries', 'departments', 'classes', 'locations'].flatMap((name) =>
    role.restrictions[name] ? [`only ${name} ${role.restrictions[name].ids.join(', ')}`] : [],
  );
  const hiddenText = [...hidden.tables, ...columns, ...rows].join(', ');
  const faultText = faults.length === 0 ? '' : `${faults.length} put`;
  const clockText = `${clock.now.slice(0, 19).replace('T', ' ')} UTC, ${clock.timeZone}${clock.skewSeconds === 0 ? '' : `, ${clock.skewSeconds} s from the books`}`;
  const allocated = Object.entries(load.limits ?? {}).map(
    ([integration, limit]) => `${limit} allocated to ${integration}`,
  );
  const held = load.concurrency === 0 ? [] : [`others hold ${load.concurrency} of ${load.limit} places`];
  const loadText = [...held, ...allocated].join(', ');
  const entries = [
    ['Hidden', hiddenText, 'nothing'],
    ['Faults', faultText, 'none'],
    [
      'Role',
      [...missing.map(([name, level]) => `${name}: ${level}`), ...restricted].join(', '),
      'all permissions',
    ],
    ['Load', loadText, 'none'],
    ['Clock', clock.skewSeconds === 0 ? '' : clockText, clockText],
    [
      'Requests',
      '',
      Object.entries(requests)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(' · '),
    ],
  ];
  const list = byId('glance');
  renderOnChange(list, entries, () =>
    entries.map(([name, text, otherwise]) =>
      h('div', {}, h('dt', {}, name), h('dd', text ? { class: 'set' } : {}, text || otherwise)),
    ),
  );
}

function showRequests({ recent }) {
  renderOnChange(byId('requests'), recent, () => {
    if (recent.length === 0) return h('p', { class: 'quiet' }, 'None since the last reset.');
    const head = ['Time', 'Kind', 'Table', 'Request', 'Status', 'ms', 'Faults'];
    const row = ({ at, kind, table, method, path, status, durationMs, faults }) =>
      h(
        'tr',
        status === 200 || status === 204 ? {} : { class: 'bad' },
        [
          at.slice(11, 19),
          kind,
          table ?? '',
          `${method} ${path.replace('/services/rest/', '')}`,
          status || 'cut',
          durationMs,
          faults.join(', '),
        ].map((text) => h('td', {}, String(text))),
      );
    return h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head.map((text) => h('th', { scope: 'col' }, text)),
        ),
      ),
      h('tbody', {}, recent.map(row)),
    );
  });
}

function askForToken() {
  byId('sign-in').hidden = false;
  byId('content').hidden = true;
}

async function start() {
  try {
    const [state, described] = await Promise.all([request('GET', '/state'), request('GET', '/tables')]);
    byId('sign-in').hidden = true;
    byId('content').hidden = false;
    if (!tables) {
      tables = described.tables;
      setUpFaults(tables, act);
      setUpHidden(tables, act);
      setUpAccount(state, act);
      setUpRecords(tables, act, say);
      setUpFields(act);
    }
    show(state);
    say('');
  } catch (error) {
    askForToken();
    if (error.status !== 401) say(error.message, true);
    else if (sessionStorage.length > 0)
      say('This token is not valid. The account may have been started again.', true);
  }
}

async function poll() {
  if (document.visibilityState !== 'visible' || byId('content').hidden) return;
  try {
    show(await request('GET', '/state'));
  } catch (error) {
    if (error.status === 401) askForToken();
    say(error.status ? error.message : 'The account does not respond. It may have been stopped.', true);
  }
}

byId('reset').addEventListener('click', () =>
  act(
    () => request('POST', '/reset'),
    'Nothing is hidden, there are no faults, and the clock runs with the books. Edits of records stay.',
  ),
);
byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  saveToken(new FormData(event.target).get('token'));
  start();
});
byId('requests').tabIndex = 0; // it scrolls
setInterval(poll, POLL_MS);
if (takeToken()) start();
else askForToken();
addEventListener('hashchange', () => takeToken() && start());
