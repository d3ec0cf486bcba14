// The sidebar of the portal.
import { Pending, Warnings } from '../../parts/detail.tsx';
import { Empty } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { SidebarEditor } from './sidebar-editor.tsx';

/** An item as it is read: children are items too. */
export type SidebarItem = {
  readonly label: string;
  readonly kind: string;
  readonly target: string | null;
  readonly children: readonly unknown[];
};

const Tree = ({ items }: { items: readonly SidebarItem[] }) => (
  <ul class="tree">
    {items.map((item, index) => (
      <li key={`${index} ${item.label}`}>
        {item.label}{' '}
        <span class="muted">
          {[item.kind.replace('-', ' '), item.target].filter((part) => part !== null).join(' · ')}
        </span>
        {item.children.length > 0 && <Tree items={item.children as readonly SidebarItem[]} />}
      </li>
    ))}
  </ul>
);

/** The tab of the sidebar. */
export function Sidebar() {
  const { data, error, reload } = useGet('/portal/sidebar');
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const isEmpty = data.items.length === 0;
  return (
    <div class="stack">
      <p class="muted">
        Where visitors can go.{' '}
        {isEmpty
          ? 'Without items of yours it lists each record type that the portal shows, and each published page.'
          : 'What shows nothing to a visitor is left out for them.'}
      </p>
      {may('portal:update') ? (
        <SidebarEditor stored={data} />
      ) : (
        <>
          <Warnings problems={data.problems} />
          {isEmpty ? <Empty title="There are no items yet." /> : <Tree items={data.items} />}
        </>
      )}
    </div>
  );
}
