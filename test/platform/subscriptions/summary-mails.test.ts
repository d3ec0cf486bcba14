// Mails of a view with a summary: its rows in the mail and in templates, exact and per currency.
import { beforeAll, describe, expect, it } from 'vitest';
import { loadInvoices } from '../../public/fixture.ts';
import { useDeliveries } from './fixture.ts';

const { site } = useDeliveries();
beforeAll(async () => {
  const [euros, yen] = [
    { entity: '1', entityName: 'EUR' },
    { entity: '2', entityName: 'JPY' },
  ];
  await loadInvoices(site.ctx, site.organization.id, [
    { id: 1, tranid: 'A', total: '1234.50', trandate: '2026-01-31', ...euros, status: 'open' },
    { id: 2, tranid: 'B', total: '0.25', trandate: '2026-01-02', ...euros, status: 'open' },
    { id: 3, tranid: 'C', total: '12345678901234567890.10', trandate: '2026-02-01', ...yen, status: '<b>' },
    { id: 4, tranid: 'D', total: '5', trandate: null, ...yen, status: null },
  ]);
  const fields = [
    { name: 'total', label: 'Amount', type: 'number', currency: 'entity' },
    { name: 'entity', label: 'Currency', type: 'reference' },
    { name: 'trandate', label: 'Date', type: 'date' },
    { name: 'status', label: 'Status', type: 'text' },
  ];
  const description = JSON.stringify({ name: 'invoice', label: 'Invoice', fields });
  await site.as((tx) => tx('erp_record_types').update({ description }));
});

async function deliverMail(summary: object, given: object = {}) {
  const viewId = await site.view({ name: 'Totals', columns: ['tranid'], sort: [], summary });
  await site.deliver((await site.subscribe({ viewId, ...given })).id);
  return site.readMail();
}

describe('a mail of a view with a summary', () => {
  it('shows its rows under labels, with exact amounts in the decimals of their currency', async () => {
    const { subject, html, text } = await deliverMail({
      aggregates: [{ field: 'total', functions: ['sum'] }],
      groups: [{ field: 'entity.name' }, { field: 'trandate', period: 'month' }],
    });
    expect(subject).toBe('Totals: 3 rows');
    expect(html).toContain('3 rows. As of');
    for (const label of ['Currency', 'Date (month)', 'Records', 'Sum of Amount'])
      expect(html).toContain(label);
    expect(text).toMatch(/^EUR +2026-01 +2 +1,234\.75$/m);
    expect(text).toMatch(/^JPY +2026-02 +1 +12,345,678,901,234,567,890\.1$/m);
    expect(text).toMatch(/^JPY +\(none\) +1 +5$/m);
    expect(html + text).not.toContain('INV');
  });

  it('escapes group values, and shows no more rows than the summary wants', async () => {
    const { subject, html } = await deliverMail({ groups: [{ field: 'status' }], sort: '-count', limit: 2 });
    expect(subject).toBe('Totals: 2 rows');
    expect(html).toContain('open');
    expect(html).toContain('&lt;b&gt;');
    expect(html).not.toContain('<b>');
  });

  it('gives its rows to a template', async () => {
    const template = await site.owner('post', '/portal/templates', {
      ...{ key: 'totals', kind: 'email', subject: '{{ view.name }}: {{ total }}' },
      body: '<ul>{% for row in rows %}<li>{{ row.cells | join: "|" }}</li>{% endfor %}</ul>{% for column in columns %}[{{ column.label }}]{% endfor %}',
    });
    expect(template.status, template.text).toBe(201);
    const summary = {
      aggregates: [{ field: 'total', functions: ['max'] }],
      groups: [{ field: 'entity.name' }],
    };
    const { subject, html } = await deliverMail(summary, { templateId: template.body.id });
    expect(subject).toBe('Totals: 2');
    expect(html).toContain('<li>EUR|2|1,234.50</li><li>JPY|2|12,345,678,901,234,567,890.1</li>');
    expect(html).toContain('[Currency][Records][Maximum of Amount]');
  });

  it('attaches the records, not the rows, as CSV', async () => {
    const { subject, file } = await deliverMail({ groups: [{ field: 'status' }] }, { format: 'csv' });
    expect(subject).toBe('Totals: 4 records');
    expect(file).toContain('1,A\r\n2,B\r\n');
  });
});
