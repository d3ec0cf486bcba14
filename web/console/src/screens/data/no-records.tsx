import { Empty } from '../../parts/page.tsx';
import { base } from '../../router.ts';
import { show } from './address.ts';

/** In place of a list without records: why there are none, and the next step. */
export function NoRecords({ isFiltered, isBeyond }: { isFiltered: boolean; isBeyond: boolean }) {
  const empty = (title: string, label: string, changes: Parameters<typeof show>[0]) => (
    <Empty title={title}>
      <button type="button" onClick={() => show(changes)}>
        {label}
      </button>
    </Empty>
  );
  if (isBeyond) return empty('There are no records on this page.', 'Go to the first page', { page: null });
  if (isFiltered) return empty('Nothing matches these filters.', 'Clear filters', { filter: null, q: null });
  return (
    <Empty title="There are no records yet.">
      <a href={`${base}/syncs`}>See whether the sync has run</a>
    </Empty>
  );
}
