// What belongs to a resource as a whole: name, description, order, page size, relations, and lists sorted by
// several fields.
import { Check, Field as Input, Select } from '../../parts/form.tsx';
import { RowsEditor } from '../../parts/rows-editor.tsx';
import { changeParts, type Endpoint, type Relation, removeEndpoint, renameEndpoint } from './document.ts';
import type { TableProps } from './row-cells.tsx';
import { findSource } from './sources.ts';
import { useRename } from './use-rename.ts';

type SetParts = (parts: Parameters<typeof changeParts>[1]) => void;

function DefaultOrder({
  endpoint: { sorts, defaultSort },
  setParts,
}: {
  endpoint: Endpoint;
  setParts: SetParts;
}) {
  const names = new Set([...sorts, ...(defaultSort ? [defaultSort.field] : [])]);
  const orders = [...names].flatMap((name) => [
    [name, `${name}, ascending`] as const,
    [`-${name}`, `${name}, descending`] as const,
  ]);
  return (
    <Select
      label="Default order"
      value={defaultSort === null ? '' : `${defaultSort.order === 'desc' ? '-' : ''}${defaultSort.field}`}
      onChange={(value) =>
        setParts({
          defaultSort:
            value === ''
              ? null
              : { field: value.replace(/^-/, ''), order: value[0] === '-' ? 'desc' : 'asc' },
        })
      }
      options={[['', 'id, ascending'], ...orders]}
      hint="Of the fields with a sort."
    />
  );
}

function Choices({ endpoint, setParts }: { endpoint: Endpoint; setParts: SetParts }) {
  return (
    <>
      <Check
        label="Callers may combine filters by or"
        checked={endpoint.or === true}
        onChange={(on) => setParts({ or: on || undefined })}
      />
      <Check
        label="PDF document of each record"
        checked={endpoint.document !== undefined}
        onChange={(on) => setParts({ document: on ? 'invoice' : undefined })}
      />
    </>
  );
}

export function ResourceSettings(props: TableProps) {
  const { document, index, endpoint, change, set } = props;
  const { name, recordType, description, sortSets = [], maxPageSize } = endpoint;
  const setParts: SetParts = (parts) => set(changeParts(endpoint, parts));
  const renaming = useRename(document, (from, next) => renameEndpoint(from, index, next), change);
  return (
    <div class="schema-resource-settings">
      <Input
        label="Resource name"
        value={name}
        onChange={renaming.onChange}
        hint={`Record type ${recordType}. Callers read /${name}.`}
      />
      <Input label="Description" value={description} onChange={(next) => setParts({ description: next })} />
      <DefaultOrder endpoint={endpoint} setParts={setParts} />
      <Input
        label="Records per page, at most"
        type="number"
        value={String(maxPageSize)}
        onChange={(text) => setParts({ maxPageSize: Math.trunc(Number(text)) })}
        hint="1 to 1,000"
      />
      <Input
        label="Sorts by several fields"
        rows={2}
        value={sortSets.map((keys) => keys.join(',')).join('\n')}
        onChange={(text) =>
          setParts({
            sortSets:
              text === '' ? [] : text.split('\n').map((line) => line.split(',').map((key) => key.trim())),
          })
        }
        hint="One per line, such as date,-total"
      />
      <Choices endpoint={endpoint} setParts={setParts} />
      <Relations {...props} setParts={setParts} />
      <p>
        <button type="button" class="small danger" onClick={() => change(removeEndpoint(document, index))}>
          Remove resource {name}
        </button>
      </p>
    </div>
  );
}

/**
 * Relations are of references to record types that have a resource here. A new one gets a name that fits its
 * field.
 */
function Relations({
  document,
  endpoint: { fields, relations = [] },
  sources,
  setParts,
}: TableProps & { setParts: SetParts }) {
  const targets = new Map(
    fields.map(({ name, source }) => {
      const target = findSource(sources, source)?.target;
      return [
        name,
        document.filter(({ recordType }) => recordType === target).map((resource) => resource.name),
      ];
    }),
  );
  const references = [...targets].flatMap(([name, resources]) => (resources.length > 0 ? [name] : []));
  if (relations.length + references.length === 0)
    return <p class="fine">Relations need a field that refers to a resource of this version.</p>;
  const proposed = ({ name, field, resource }: Relation): Relation => ({
    name: name || `${field}Record`.replace(/IdRecord$/, ''),
    field,
    resource,
  });
  return (
    <RowsEditor
      label="Relations"
      hint="Records that callers embed with expand: a name, the field that refers to them, and their resource."
      item="relation"
      columns={[
        { name: 'name', label: 'Name' },
        { name: 'field', label: 'Field', listNames: () => references },
        {
          name: 'resource',
          label: 'Resource',
          listNames: ({ field = references[0] ?? '' }) => targets.get(field) ?? [],
        },
      ]}
      rows={relations}
      onChange={(rows) => {
        const next = rows as readonly Relation[];
        setParts({ relations: next.map((one, at) => (at < relations.length ? one : proposed(one))) });
      }}
    />
  );
}
