// The notice about fields that the ERP can't deliver at the moment. A description never changes once it is
// published, so the page asks the resource itself: one HEAD request, whose headers name the fields.
import { make } from './renderer/dom.js';

/** The fields of `X-Data-Stale-Fields`: `name; since="…"`, separated by commas. */
const readFields = (header) =>
  [...header.matchAll(/([\w*]+); since="([^"]+)"/g)].map(([, name, since]) => ({ name, since }));

const timeText = (instant) =>
  new Date(instant).toLocaleString('en', {
    dateStyle: 'long',
    timeStyle: 'short',
    hourCycle: 'h23',
    timeZone: 'UTC',
  });

function notice(fields, syncedAt) {
  const listed = fields.map(({ name, since }) =>
    make(
      'li',
      {},
      name === '*' ? 'Several fields' : make('code', {}, name),
      `, since ${timeText(since)} UTC`,
    ),
  );
  const asOf =
    syncedAt === null
      ? 'Records keep the values that they had.'
      : `Records keep the values of ${timeText(syncedAt)} UTC.`;
  return [
    make(
      'strong',
      {},
      fields.length === 1 && fields[0].name !== '*'
        ? 'A field may be out of date. '
        : 'Some fields may be out of date. ',
    ),
    `The ERP does not deliver them at the moment. ${asOf} In newer records they are null.`,
    make('ul', {}, listed),
  ];
}

const findList = ({ operations }) => operations.find(({ path }) => !path.includes('{'));

/** Undefined when the resource can't be read; the page then shows no notice. */
async function fetchHeaders({ path, parameters }, access) {
  const query = parameters.some(({ name }) => name === 'pageSize') ? '?pageSize=1' : '';
  try {
    const options = {
      method: 'HEAD',
      headers: access.headers(),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    };
    const response = await fetch(`${access.serverPath}${path}${query}`, options);
    return response.ok ? response.headers : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An element that names the stale fields of a resource once there is a key to ask with; hidden while there
 * are none.
 */
export function staleFieldsNotice(resource, access) {
  const element = make('div', { class: 'notice warning', role: 'status', hidden: true });
  const list = findList(resource);
  const ask = async () => {
    if (list === undefined || access.isDraft || !access.canSend()) return;
    const headers = await fetchHeaders(list, access);
    const fields = readFields(headers?.get('x-data-stale-fields') ?? '');
    element.replaceChildren(...notice(fields, headers?.get('x-data-synced-at') ?? null));
    element.hidden = fields.length === 0;
  };
  access.onChange(ask);
  void ask();
  return element;
}
