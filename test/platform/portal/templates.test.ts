// Templates and their preview with a record of the warehouse.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { loadInvoices } from '../../public/fixture.ts';
import { refusal } from '../../setup/api.ts';
import { testClock } from '../../setup/database.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ clock: testClock() });
let other: Organization;

beforeAll(async () => {
  other = await org.another();
  await loadInvoices(org.ctx, org.id, [
    {
      ...{ id: 7, tranid: 'INV-7\r\nBcc: eve@example.test', total: '-12345678901234567890.10', seq: '3' },
      ...{ paid: true, trandate: '2026-03-01', lastmodified: '2026-03-01T12:30:00Z' },
      ...{ entity: '42', entityName: '<script>Ann</script>' },
      lines: '[{"item":"1","item.name":"Bolt & nut","quantity":2.50,"secretcost":1}]',
    },
  ]);
  await loadInvoices(org.ctx, other.id, [{ id: 8, tranid: 'THEIRS' }]);
});

const some = { kind: 'email', subject: 'x', body: 'x' };
const make = (input: object) =>
  org.api('post', '/portal/templates', { key: `k-${createId()}`, ...some, ...input });
const asked = { recordType: 'invoice', recordId: '7' };
const preview = async (texts: object, input: object = {}) => {
  const { id } = (await make({})).body;
  return org.api('post', `/portal/templates/${id}/preview`, { ...asked, ...texts, ...input });
};

describe('/portal/templates', () => {
  it('are created, retrieved, updated and deleted', async () => {
    const open = { key: 'open', kind: 'email', subject: 'Hi {{ a }}', body: '<p>{{ b }}</p>' };
    const made = await org.api('post', '/portal/templates', open);
    expect([made.status, made.body]).toMatchObject([201, open]);
    const at = `/portal/templates/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    const changed = (await org.api('patch', at, { body: 'Other' })).body;
    expect(changed).toMatchObject({ ...open, body: 'Other' });
    expect((await org.api('get', '/portal/templates?q=OPE&kind=email')).body.pagination.total).toBe(1);
    expect(await refusal(make({ key: 'open' }))).toEqual([422, 'taken']);
    expect((await make({ key: 'open', kind: 'document', subject: null })).status).toBe(201);
    expect((await org.api('delete', at)).status).toBe(204);
    expect((await org.api('get', at)).status).toBe(404);
  });

  it('422 for syntax errors, with the line, and for a mail without or a document with a subject', async () => {
    const refused = await make({ subject: '{{ a | shout }}', body: 'one\n{% if a %}\n{{ b }' });
    expect([refused.status, refused.body.error.details]).toEqual([
      422,
      [
        { path: 'subject', code: 'syntax', message: 'Line 1, column 1: undefined filter: shout' },
        { path: 'body', code: 'syntax', message: expect.stringMatching(/^Line [23], column \d+: /) },
      ],
    ]);
    const { id } = (await make({})).body;
    const changed = org.api('patch', `/portal/templates/${id}`, { body: '{% include "x" %}' });
    expect(await refusal(changed)).toEqual([422, 'syntax']);
    expect(await refusal(make({ subject: null }))).toEqual([422, 'subject_needed']);
    expect(await refusal(make({ kind: 'document' }))).toEqual([422, 'no_subject']);
  });
});

describe('POST /portal/templates/{id}/preview', () => {
  it('renders a record: exact numbers, labels, lines, additional data; the subject on one line, the body escaped', async () => {
    const body = `{{ labels.entity }} ({{ record.entity }}) {{ record.total }} {{ record.total | number: 2 }} {{ record.paid }}
{% for line in record.lines %}{{ line["item.name"] }}: {{ line.quantity | times: 2 }}{% endfor %}
{{ record.trandate | date: "%d.%m.%Y" }} {{ record.lastmodified | date: "%H:%M" }} {{ now | date: "%Y-%m-%d" }} {{ greeting }} {{ organization.slug }}`;
    const answer = await preview(
      { subject: '{{ record.tranid }}: {{ labels.entity }}', body },
      { data: { greeting: 'Dear & all', record: { tranid: 'not mine' }, now: 'never' } },
    );
    const { slug } = (await org.api('get', '/whoami')).body.organization;
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        subject: 'INV-7 Bcc: eve@example.test: <script>Ann</script>',
        html: `&lt;script&gt;Ann&lt;/script&gt; (42) -12345678901234567890.10 -12,345,678,901,234,567,890.10 true
Bolt &amp; nut: 5
01.03.2026 12:30 2026-03-02 Dear &amp; all ${slug}`,
        problems: [],
      },
    ]);
  });

  it('renders a view like a subscription mail', async () => {
    const columns = ['tranid', 'entity.name', 'total'];
    const ask = { name: 'Open <b>', recordType: 'invoice', columns, visibility: 'private' };
    const viewId = (await org.api('post', '/views', ask)).body.id;
    const body =
      '{{ view.name }} {{ total }} {% for row in rows %}{{ row.record.tranid }} {{ row.labels.entity }} {{ row.cells[2] }}{% endfor %} {{ columns[0].source }} {{ record.seq }} {{ gone }}';
    const { id } = (await make({ subject: '{{ view.name }}', body })).body;
    const at = `/portal/templates/${id}/preview`;
    const [code, message] = ['undefined_variable', 'undefined variable: gone'];
    expect((await org.api('post', at, { ...asked, viewId })).body).toEqual({
      subject: 'Open <b>',
      html: 'Open &lt;b&gt; 1 INV-7\nBcc: eve@example.test &lt;script&gt;Ann&lt;/script&gt; -12345678901234567890.10 tranid 3 ',
      problems: [expect.objectContaining({ path: 'body', code, message })],
    });
    const editor = await org.join('editor');
    const blind = await org.join(['portal:read', 'portal:update', 'record:read']);
    const shared = (await org.api('post', '/views', { ...ask, visibility: 'organization' })).body.id;
    for (const [api, unseen] of [
      [editor.api, viewId],
      [blind.api, shared],
      [org.api, createId()],
    ] as const)
      expect(await refusal(api('post', at, { ...asked, viewId: unseen }))).toEqual([422, 'unknown_view']);
  });

  it('reports missing variables, errors and limits with their line, and renders what it can', async () => {
    const problems = (code: string, line: number, more = {}) => [{ path: 'body', code, line, ...more }];
    for (const [texts, expected] of [
      [
        { body: 'a\n{{ record.nothing }}b' },
        { html: 'a\nb', problems: problems('undefined_variable', 2, { column: 4 }) },
      ],
      [
        { subject: 'Fine', body: 'a\n{{ b | shout }}' },
        { subject: 'Fine', html: null, problems: problems('syntax', 2) },
      ],
      [
        { body: '\n\n{% for i in (1..99999999) %}{% endfor %}' },
        { html: null, problems: problems('too_much_work', 3) },
      ],
    ] as const)
      expect((await preview(texts)).body).toMatchObject(expected);
  });

  it('sees only records of its own organization', async () => {
    for (const [input, code] of [
      [{ recordId: '8' }, 'unknown_record'],
      [{ recordId: 'x' }, 'unknown_record'],
      [{ recordType: 'customer' }, 'unknown_record_type'],
      [{ recordType: '__proto__' }, 'unknown_record_type'],
    ] as const)
      expect(await refusal(preview({}, input))).toEqual([422, code]);
    let deep: unknown = 1;
    for (let level = 0; level < 3_000; level += 1) deep = [deep];
    expect((await preview({}, { data: { deep } })).status).toBe(422);
  });
});
