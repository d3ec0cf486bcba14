// The sidebar of the portal: shown as a tree, edited as JSON.
import { api, type paths } from '../../api.ts';
import { Pending, Warnings } from '../../parts/detail.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import { parseJson, RecordForm, toJson } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';

/** An item as it is read: children are items too. */
export type SidebarItem = {
  readonly label: string;
  readonly kind: string;
  readonly target: string | null;
  readonly children: readonly unknown[];
};

type Items = NonNullable<
  paths['/portal/sidebar']['put']['requestBody']
>['content']['application/json']['items'];

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

const example =
  'Each item has label, kind (view, page, record-type, link or group) and target; a group has children instead of a target.';

/** The tab of the sidebar. */
export function Sidebar() {
  const { data, error, reload } = useGet('/portal/sidebar');
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const save = async ({ items }: { readonly items: string }): Promise<void> => {
    await api.PUT('/portal/sidebar', {
      body: { items: parseJson<Items>('Items', items), revision: data.revision },
    });
    await invalidate('/portal/sidebar');
  };
  return (
    <>
      <Warnings problems={data.problems} />
      {data.items.length === 0 ? (
        <Empty title="The sidebar is empty: visitors find no page, view or record." />
      ) : (
        <Tree items={data.items} />
      )}
      {may('portal:update') && (
        <Section title="Edit the sidebar">
          <RecordForm
            key={data.revision}
            label="Save sidebar"
            save={save}
            initial={{ items: toJson(data.items) }}
            fields={[{ name: 'items', label: 'Items', rows: 14, required: true, hint: example }]}
          />
        </Section>
      )}
    </>
  );
}
