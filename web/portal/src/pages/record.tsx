// One record: its amounts, its fields, its lines, and the records that belong to it.
import type { RecordPage } from '../../../../src/portal/view-model.ts';
import { Card } from '../parts/card.tsx';
import { Fields } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { NoPdf, PaperButtons } from '../parts/pdf.tsx';
import { TableView } from '../parts/table.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { Status, ValueView } from '../parts/value.tsx';
import { useView } from '../view.ts';

const Amounts = ({ amounts }: Pick<RecordPage, 'amounts'>) => {
  const view = useView();
  return (
    <dl class="amounts">
      {amounts.map(({ label, value }, at) => (
        <div key={at}>
          <dt>{view.label(label)}</dt>
          <dd>
            <ValueView value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
};

export const RecordView = ({ page }: { page: RecordPage }) => {
  const view = useView();
  const { type, title, list, asOf, status, amounts, fields, lines, related, pay } = page;
  const typeName = view.label(type);
  const linesTitle = view.text('record.lines');
  return (
    <>
      <Title
        text={title}
        above={
          <a class="back" href={list} aria-label={view.text('record.back', { list: typeName })}>
            <Icon name="left" />
            {typeName}
          </a>
        }
        status={status !== null && status !== '' && <Status text={status} />}
        below={asOf === null ? undefined : <AsOf instant={asOf} />}
      >
        {pay !== null && (
          <a class="button primary" href={pay}>
            {view.text('own.pay')}
          </a>
        )}
        <PaperButtons pdf={page.pdf} />
      </Title>
      {page.hasNoPdf && <NoPdf />}
      <section class="card record" aria-label={view.text('record.details')}>
        {amounts.length > 0 && <Amounts amounts={amounts} />}
        {fields.length > 0 && <Fields fields={fields} />}
        {amounts.length + fields.length === 0 && <p class="card-text">{view.text('record.noFields')}</p>}
      </section>
      {lines !== null && lines.rows.length > 0 && (
        <Card title={linesTitle}>
          <TableView table={lines} caption={linesTitle} />
        </Card>
      )}
      {related
        .filter(({ table }) => table.rows.length > 0)
        .map(({ title: name, table }, at) => (
          <Card key={at} title={view.label(name)}>
            <TableView table={table} caption={view.label(name)} />
          </Card>
        ))}
    </>
  );
};
