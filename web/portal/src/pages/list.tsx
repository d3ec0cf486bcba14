// A list of records of one type: filters, sums, a sortable table, pages and downloads.
import type { ListPage } from '../../../../src/portal/view-model.ts';
import { Empty } from '../parts/card.tsx';
import { Filters } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { Paging } from '../parts/paging.tsx';
import { TableView } from '../parts/table.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { useView } from '../view.ts';

const Downloads = ({ csv, xlsx }: ListPage['downloads']) => {
  const view = useView();
  return (
    <>
      <a class="button" href={csv} title={view.text('list.csvTitle')} download>
        <Icon name="download" />
        {view.text('list.csv')}
      </a>
      <a class="button" href={xlsx} title={view.text('list.xlsxTitle')} download>
        <Icon name="download" />
        {view.text('list.xlsx')}
      </a>
    </>
  );
};

const Sums = ({ sums }: Pick<ListPage, 'sums'>) => {
  const view = useView();
  return (
    <section class="card sums" aria-label={view.text('list.sums')}>
      <dl>
        {sums.map(({ label, values }, at) => (
          <div key={at}>
            <dt>{view.label(label)}</dt>
            {values.map((value, each) => (
              <dd key={each}>{view.money(value)}</dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  );
};

export const List = ({ page }: { page: ListPage }) => {
  const view = useView();
  const { title, asOf, filters, sums, table, pages, downloads } = page;
  const name = view.label(title);
  return (
    <>
      <Title
        text={name}
        below={
          <>
            {view.text('list.count', { total: pages.total })}
            {asOf !== null && (
              <>
                {' · '}
                <AsOf instant={asOf} />
              </>
            )}
          </>
        }
      >
        {pages.total > 0 && <Downloads {...downloads} />}
      </Title>
      <Filters address={page.address} filters={filters} />
      {pages.total > 0 && sums.length > 0 && <Sums sums={sums} />}
      <div class="card">
        {table.rows.length === 0 ? (
          <Empty text={view.text(filters.cleared === null ? 'list.none' : 'list.noMatch')}>
            {filters.cleared !== null && (
              <a class="button" href={filters.cleared}>
                {view.text('list.clear')}
              </a>
            )}
          </Empty>
        ) : (
          <TableView table={table} caption={name} />
        )}
      </div>
      {pages.totalPages > 1 && <Paging pages={pages} />}
    </>
  );
};
