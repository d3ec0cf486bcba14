// Pages of the portal: a draft that is edited here, and the version that visitors see.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { ObjectPage, type States, stateFilter, Warnings, WordBadge } from '../../parts/detail.tsx';
import {
  ageColumn,
  Facts,
  List,
  linkColumn,
  listQuery,
  searchFilter,
  TabbedContent,
} from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { ActionButton, ConfirmButton, FormButton, RecordForm } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import '../../styles/portal.css';
import { invalidate, useGet } from '../../query.ts';
import { query, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { BlocksEditor } from './blocks-editor.tsx';
import { FieldMappings } from './field-mappings.tsx';
import { RemoveButton, saveObject } from './objects.tsx';
import { Sidebar } from './sidebar.tsx';
import { useTargets } from './targets.ts';
import { Templates } from './templates.tsx';

type PortalPage = Answer<'/portal/pages/{id}'>;
type State = Pick<PortalPage, 'status' | 'revision' | 'publishedRevision'>;
const refresh = (): Promise<void> => invalidate('/portal/pages');

export const pageStates: States<PortalPage['status']> = {
  draft: ['calm', 'Draft'],
  published: ['good', 'Published'],
};

const PageState = ({ status, revision, publishedRevision }: State) => {
  const hasChanges = status === 'published' && publishedRevision !== revision;
  return <WordBadge state={hasChanges ? ['warn', 'Published, with changes'] : pageStates[status]} />;
};

const fields = [
  { name: 'title', label: 'Title', required: true },
  { name: 'slug', label: 'Address', required: true, hint: 'Lower-case letters, digits and hyphens.' },
] as const;

const PageList = () => (
  <List
    label="Pages"
    read={useGet('/portal/pages', {
      query: listQuery<{ q: string; status: PortalPage['status'] }>('q', 'status'),
    })}
    filters={[searchFilter('Search pages'), stateFilter(pageStates)]}
    next="A page shows texts, views and records to the visitors of the portal."
    columns={[
      linkColumn('Page', '/pages', 'title'),
      { title: 'Address', minor: true, cell: ({ slug }) => <code>{slug}</code> },
      { title: 'State', cell: (page) => <PageState {...page} /> },
      ageColumn('Changed', 'updatedAt'),
    ]}
  />
);

export const Pages = () => (
  <Page
    title="Pages"
    lead="What visitors of the portal see."
    actions={
      !query.value.has('show') &&
      may('portal:create') && (
        <FormButton
          label="New page"
          kind="primary"
          action="Create page"
          fields={fields}
          save={(body) => saveObject('/portal/pages', undefined, { ...body, blocks: [] })}
        />
      )
    }
  >
    <TabbedContent
      label="Portal"
      tabs={[
        ['', 'Pages', PageList],
        ['sidebar', 'Sidebar', Sidebar],
        ['templates', 'Templates', Templates],
        ['mappings', 'Field mappings', FieldMappings],
      ]}
    />
  </Page>
);

type EditorProps = { page: PortalPage; onEdit: () => void };

/** Saves only while no one else has changed the draft. */
function PageEditor({ page: { id, title, slug, revision, ...page }, onEdit }: EditorProps) {
  const [blocks, setBlocks] = useState(page.blocks);
  const targets = useTargets();
  return (
    <div onInput={onEdit}>
      <RecordForm
        label="Save draft"
        initial={{ title, slug }}
        fields={fields}
        save={(values) =>
          api
            .PATCH('/portal/pages/{id}', { params: { path: { id } }, body: { ...values, blocks, revision } })
            .then(refresh)
        }
      >
        <BlocksEditor
          blocks={blocks}
          onChange={(changed) => {
            setBlocks(changed);
            onEdit();
          }}
          choices={{ viewId: targets.view, recordType: targets['record-type'] }}
        />
      </RecordForm>
    </div>
  );
}

function PageActions({ page, isEdited }: { page: PortalPage; isEdited: boolean }) {
  const { id, revision, status, publishedRevision, title } = page;
  const params = { path: { id } };
  const isPublished = status === 'published';
  return (
    <>
      {isEdited && <span class="muted">Save the draft to publish it</span>}
      {may('portal:update') && !isEdited && publishedRevision !== revision && (
        <ActionButton
          label="Publish"
          kind="primary"
          run={() => api.POST('/portal/pages/{id}/publish', { params, body: { revision } }).then(refresh)}
        />
      )}
      {may('portal:update') && isPublished && (
        <ConfirmButton
          label="Unpublish"
          title={`Unpublish ${title}`}
          run={() => api.PATCH('/portal/pages/{id}', { params, body: { status: 'draft' } }).then(refresh)}
        >
          Visitors no longer see this page. The draft stays.
        </ConfirmButton>
      )}
      {may('portal:delete') && (
        <RemoveButton what="page" name={title} list="/portal/pages" id={id}>
          Deletes the draft{isPublished && ' and the version that visitors see'}. Sidebar items that lead to
          it will report a problem.
        </RemoveButton>
      )}
    </>
  );
}

const PageDetail = ({ page, onEdit }: EditorProps) => (
  <>
    <Facts
      facts={[
        ['State', <PageState {...page} />],
        ['Draft', `Revision ${page.revision}`],
        [
          'Visitors see',
          page.publishedRevision === null
            ? 'Nothing: it is not published'
            : `Revision ${page.publishedRevision}`,
        ],
        ['Published', page.publishedAt && <Time at={page.publishedAt} />],
      ]}
    />
    <Warnings problems={page.problems} />
    {may('portal:update') && (
      <Section title="Draft">
        <PageEditor key={page.revision} page={page} onEdit={onEdit} />
      </Section>
    )}
  </>
);

export function PageScreen({ params: { id = '' } }: ScreenProps) {
  const [edited, setEdited] = useState<number>();
  return (
    <ObjectPage
      read={useGet('/portal/pages/{id}', { path: { id } })}
      kind="Page"
      list="/pages"
      show={(page) => ({
        title: page.title,
        actions: <PageActions page={page} isEdited={edited === page.revision} />,
        children: <PageDetail page={page} onEdit={() => setEdited(page.revision)} />,
      })}
    />
  );
}
