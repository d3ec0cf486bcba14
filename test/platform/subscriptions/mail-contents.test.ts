// What a subscription's mail contains: amounts with their currency, CSV files, templates.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type InvoiceRow, loadInvoices } from '../../public/fixture.ts';
import { refusal } from '../../setup/api.ts';
import { someInvoices, useDeliveries } from './fixture.ts';

const { site, view } = useDeliveries();

describe('amounts of money', () => {
  const money: [amount: string | null, currency: string | null, shown: string][] = [
    ['1234.5', 'GBP', '1,234.50 GBP'],
    ['-1234567.125', 'EUR', '-1,234,567.125 EUR'],
    ['1234', 'JPY', '1,234 JPY'],
    ['0', 'BHD', '0.000 BHD'],
    ['12345678901234567890', 'USD', '12,345,678,901,234,567,890.00 USD'],
    ['1234.5', 'Pound <b>', '1,234.50 Pound <b>'],
    ['-0.5', null, '-0.50'],
    [null, 'GBP', ''],
  ];
  /** Makes `total` an amount in the currency that the display text of `entity` names, or that nothing names. */
  const setCurrency = (currency?: string | null) =>
    site.as(async (tx) => {
      const { description: type } = await tx('erp_record_types').first('description');
      const fields = type.fields.map((field: { name: string }) =>
        field.name === 'total' ? { ...field, currency } : field,
      );
      await tx('erp_record_types').update({ description: JSON.stringify({ ...type, fields }) });
    });
  const deliverMail = async (columns: readonly string[]) => {
    await site.deliver((await site.subscribe({ viewId: await site.view({ columns }) })).id);
    const { html, text } = site.readMail();
    const cells = [...html.matchAll(/text-align:right[^>]*><span[^>]*>Amount<\/span>([^<]*)</g)].map(
      ([, cell = '']) => cell,
    );
    return { html, text, cells };
  };
  const shownBy = async (columns: readonly string[]): Promise<string[]> => {
    const { html, text, cells } = await deliverMail(columns);
    const lines = text.split('\n').filter((line) => line.startsWith('INV-'));
    const shown = lines.map((line) => line.slice(5).trim());
    // In both parts, and to the right.
    expect(shown).toEqual(cells.map((cell) => cell.replace('&lt;b&gt;', '<b>')));
    expect(new Set(lines.filter((line) => line.length > 5).map((line) => line.length)).size).toBe(1);
    expect(html + text).not.toContain('This view has a problem');
    return shown;
  };
  beforeAll(async () => {
    const rows = money.map(
      ([total, entityName], n): InvoiceRow => ({ id: n + 1, tranid: `INV-${n}`, total, entityName }),
    );
    await loadInvoices(site.ctx, site.organization.id, rows);
  });
  afterAll(async () => {
    await setCurrency();
    await loadInvoices(site.ctx, site.organization.id, someInvoices);
  });

  it('come with their currency, as a reader writes them, aligned, in both parts and without a column of its own', async () => {
    await setCurrency('entity');
    expect(await shownBy(['tranid', 'total'])).toEqual(money.map(([, , shown]) => shown));
  });

  it('have the decimal places of a currency that is a column of its own', async () => {
    await setCurrency('entity');
    const { cells } = await deliverMail(['tranid', 'entity.name', 'total']);
    expect(cells).toEqual([
      '1,234.50',
      '-1,234,567.125',
      '1,234',
      '0.000',
      '12,345,678,901,234,567,890.00',
      '1,234.50',
      '-0.50',
      '',
    ]);
  });

  it('come without it where nothing names it', async () => {
    await setCurrency(null);
    expect((await shownBy(['tranid', 'total'])).slice(0, 3)).toEqual([
      '1,234.50',
      '-1,234,567.125',
      '1,234.00',
    ]);
  });
});

describe('a CSV file', () => {
  it('contains all records, is stored once for all mails, is safe against formulas, and is deleted once they are sent', async () => {
    const recipients = ['ada@example.test', 'bob@example.test'];
    const { id } = await site.subscribe({ viewId: view.id, format: 'csv', recipients });
    await site.tick();
    const storedFiles = () =>
      site.as((tx) => tx('mail_attachments').select<{ content: string }[]>('content'));
    expect(await storedFiles()).toHaveLength(1);
    expect(JSON.stringify(await storedFiles())).not.toContain('INV-1');
    await site.ctx.db.control.raw('select prune_mails()');
    site.send();
    await site.settled(id, ['sent', 'sent']);
    const expected = { filename: 'Open invoices.csv', mimeType: 'text/csv', disposition: 'attachment' };
    for (const address of recipients) {
      const { html, text, attachments, file } = site.readMail(address);
      expect(attachments).toMatchObject([expected]);
      expect(file.split('\r\n')).toEqual([
        '\ufeffid,tranid,entity.name,trandate,total',
        '1,INV-1,Ann & <b>Co</b>,2026-01-31,1234.50',
        "2,INV-2,'=1+1,2026-02-01,-15.30",
        '3,INV-3,,,12345678901234567890.10',
        '',
      ]);
      expect(text).toContain('3 records in Open invoices.csv. As of');
      expect(html).not.toContain('INV-1');
    }
    await site.ctx.db.control.raw('select prune_mails()');
    expect(await storedFiles()).toEqual([]);
  });

  it('that is too large fails with a message that says what to do, and is read once', async () => {
    const { id } = await site.subscribe({ viewId: view.id, format: 'csv' });
    const mail = { ...site.ctx.settings.mail, maxAttachmentBytes: 60 };
    const runner = site.run({}, { ...site.ctx, settings: { ...site.ctx.settings, mail } });
    await runner.tick();
    await runner.stop();
    const error = expect.stringContaining('narrow the view by filters');
    expect(await site.deliveries(id)).toMatchObject([{ status: 'failed', error }]);
    expect(await site.as((tx) => tx('jobs').where({ kind: 'subscription_slots' }))).toEqual([]);
  });
});

describe('a template', () => {
  const template = async (subject: string, body: string): Promise<string> => {
    const key = `mail-${subject.length}-${body.length}`;
    const answer = await site.owner('post', '/portal/templates', { key, kind: 'email', subject, body });
    expect(answer.status).toBe(201);
    return answer.body.id;
  };

  it('renders subject and body, escaped, with our link below; it cannot be deleted while it is used', async () => {
    const body =
      '<html><body><ul>{% for row in rows %}<li>{{ row.record.tranid }} {{ row.labels.entity }} {{ row.cells[3] }}</li>{% endfor %}</ul></body></html>';
    const templateId = await template('{{ view.name }}: {{ total }} ({{ rows[1].labels.entity }})', body);
    const { id } = await site.subscribe({ viewId: view.id, templateId });
    await site.deliver(id);
    const { subject, html, text } = site.readMail();
    expect(subject).toBe('Open invoices: 3 (=1+1)');
    expect(html).toContain(
      '<li>INV-1 Ann &amp; &lt;b&gt;Co&lt;/b&gt; 1234.50</li><li>INV-2 =1+1 -15.30</li>',
    );
    const link = site.findLink('ada@example.test').replace('?', '\\?');
    expect(html).toMatch(new RegExp(`href="${link}"[^>]*>Unsubscribe</a></p>\\s*</body>`));
    expect(text).toContain('12345678901234567890.10');
    expect(await refusal(site.owner('delete', `/portal/templates/${templateId}`))).toEqual([422, 'in_use']);
  });

  it('that fails to render fails the deliveries immediately, with its line', async () => {
    const templateId = await template(
      'x',
      'one\n{{ rows | map: "record" | first | divided_by: 0 }}{% for i in (1..1000000000) %}{{ i }}{% endfor %}',
    );
    const { id } = await site.subscribe({ viewId: view.id, templateId });
    await site.tick();
    const error = expect.stringMatching(/^The template "mail-.*line 2/);
    expect(await site.deliveries(id)).toMatchObject([{ status: 'failed', error }]);
  });

  it('of another kind, or that does not exist, is rejected', async () => {
    const template = { key: 'document', kind: 'document', body: 'x' };
    const { body } = await site.owner('post', '/portal/templates', template);
    const subscription = { viewId: view.id, schedule: '* * * * *', recipients: ['a@b.test'] };
    for (const templateId of [body.id, view.id]) {
      const asked = site.owner('post', '/subscriptions', { ...subscription, templateId });
      expect(await refusal(asked)).toEqual([422, 'unknown_template']);
    }
  });
});
