// The resources of the draft as tabs, with what is wrong in each; then the parts of the draft as a whole.
import { Badge } from '../../parts/badge.tsx';
import { Empty } from '../../parts/page.tsx';
import { OpenButton } from '../../parts/record-form.tsx';
import { base, path, query, setQuery } from '../../router.ts';
import { may } from '../../session.ts';
import { AddResources } from './add-resources.tsx';
import { addEndpoints, type Document } from './document.ts';
import { countProblems, type Placed } from './problems.ts';

/** The position of the chosen resource is in the address: its name changes while it is typed. */
export function chosenResource({ length }: Document): number {
  const wanted = Number(query.value.get('resource') ?? '1') - 1;
  return Number.isInteger(wanted) && wanted >= 0 && wanted < length ? wanted : 0;
}

type Props = { document: Document; index: number; placed: Placed; change: (document: Document) => void };

export function EditorTabs({ document, index, placed, change }: Props) {
  const shown = query.value.get('show');
  const add = may('api-schema:create') && (
    <OpenButton label="Add resources…">
      {(close) => (
        <AddResources
          present={document.map(({ recordType }) => recordType)}
          onAdd={(endpoints) => {
            change(addEndpoints(document, endpoints));
            setQuery({ resource: String(document.length + 1), show: null });
          }}
          onClose={close}
        />
      )}
    </OpenButton>
  );
  const tabs = [
    ...document.map((endpoint, at) => {
      const problems = countProblems(placed, endpoint, at);
      const count =
        problems > 0 ? (
          <Badge tone="bad">{`${problems} wrong`}</Badge>
        ) : (
          <Count fields={endpoint.fields.length} />
        );
      return [`resource=${at + 1}`, endpoint.name || '(no name)', at === index, count] as const;
    }),
    ['show=about', 'Name and notes', shown === 'about'] as const,
    ['show=json', 'JSON', shown === 'json'] as const,
  ];
  return (
    <>
      <nav class="tabs" aria-label="Parts of the draft">
        {tabs.map(([search, title, isShown, count]) => (
          <a key={search} href={`${base}${path.value}?${search}`} aria-current={isShown ? 'page' : undefined}>
            {title} {count}
          </a>
        ))}
        {document.length > 0 && add}
      </nav>
      {document.length === 0 && shown === null && (
        <Empty title="The draft has no resources yet.">
          <p>
            A resource publishes one synced record type. Its fields, filters and sorts are proposed from the
            records.
          </p>
          {add}
        </Empty>
      )}
    </>
  );
}

const Count = ({ fields }: { fields: number }) => (
  <span class="fine">
    {fields}
    <span class="visually-hidden"> fields</span>
  </span>
);
