// Templates of mails and documents, with a preview.
import { useState } from 'preact/hooks';
import { type Answer, api, type Item } from '../../api.ts';
import { ageColumn, List, listQuery, searchFilter } from '../../parts/list.tsx';
import { parseJson } from '../../parts/parse-json.ts';
import { DialogButton, type FieldSpec, FormButton, RecordForm } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { RemoveButton } from './objects.tsx';

type Template = Item<'/portal/templates'>;
type Preview = Answer<'/portal/templates/{id}/preview', 'post'>;

const refresh = (): Promise<void> => invalidate('/portal/templates');

type Name = 'key' | 'kind' | 'subject' | 'body';
const fields: readonly FieldSpec<Name>[] = [
  { name: 'key', label: 'Key', required: true, hint: 'Such as open-invoices.' },
  { name: 'subject', label: 'Subject', required: true, when: ({ kind }) => kind === 'email' },
  {
    name: 'body',
    label: 'Body',
    rows: 12,
    required: true,
    hint: 'HTML with Liquid, such as {{ record.tranid }}. Data is escaped.',
  },
];
const options = [
  ['email', 'Mail'],
  ['document', 'Document'],
] as const;
const newFields: readonly FieldSpec<Name>[] = [{ name: 'kind', label: 'Kind', options }, ...fields];

/** The body of a request; only mails have a subject. */
const toBody = (key: string, kind: string, subject: string, body: string) => ({
  key,
  body,
  ...(kind === 'email' && { subject }),
});

const NewTemplate = () => (
  <FormButton
    label="New template"
    action="Create template"
    fields={newFields}
    save={({ key, kind, subject, body }) =>
      api
        .POST('/portal/templates', {
          body: { ...toBody(key, kind, subject, body), kind: kind as Template['kind'] },
        })
        .then(refresh)
    }
  />
);

const Result = ({ preview: { subject, html, problems } }: { preview: Preview }) => (
  <div class="stack" role="status">
    {problems.map(({ path, message, line }) => (
      <p class="note warn" key={`${path} ${message} ${line}`}>
        {path}
        {line !== null && `, line ${line}`}: {message}
      </p>
    ))}
    {subject !== null && (
      <p>
        <strong>{subject}</strong>
      </p>
    )}
    {html !== null && (
      <pre class="source">
        <code>{html}</code>
      </pre>
    )}
  </div>
);

const previewFields = [
  { name: 'recordType', label: 'Record type', hint: 'Such as invoice; empty for a mail without a record.' },
  { name: 'recordId', label: 'Record id' },
  { name: 'data', label: 'Variables', rows: 2, hint: 'As JSON, such as {"greeting": "Dear"}.' },
] as const;

function TemplatePreview({ id }: { id: string }) {
  const [preview, setPreview] = useState<Preview>();
  const show = async ({
    recordType,
    recordId,
    data,
  }: Readonly<Record<'recordType' | 'recordId' | 'data', string>>): Promise<void> => {
    const record = recordType === '' ? {} : { recordType, recordId };
    const body = { ...record, data: parseJson<Record<string, unknown>>('Variables', data.trim() || '{}') };
    setPreview((await api.POST('/portal/templates/{id}/preview', { params: { path: { id } }, body })).data);
  };
  return (
    <div class="stack">
      <RecordForm label="Show preview" save={show} fields={previewFields} />
      {preview !== undefined && <Result preview={preview} />}
    </div>
  );
}

function TemplateActions({ template }: { template: Template }) {
  const { id, key, kind, subject } = template;
  const params = { path: { id } };
  return (
    <>
      {may('portal:update') && (
        <>
          <DialogButton label="Preview" kind="link" title={`Preview of ${key}`}>
            {() => <TemplatePreview id={id} />}
          </DialogButton>
          <FormButton
            label="Edit"
            kind="link"
            title={`Edit ${key}`}
            action="Save template"
            fields={fields}
            initial={{ ...template, subject: subject ?? '' }}
            save={(values) =>
              api
                .PATCH('/portal/templates/{id}', {
                  params,
                  body: toBody(values.key, kind, values.subject, values.body),
                })
                .then(refresh)
            }
          />
        </>
      )}
      {may('portal:delete') && (
        <RemoveButton what="template" name={key} list="/portal/templates" id={id}>
          The service refuses it while a subscription uses the template.
        </RemoveButton>
      )}
    </>
  );
}

/** The tab of templates. */
export const Templates = () => (
  <div class="stack">
    <div>{may('portal:create') && <NewTemplate />}</div>
    <List
      label="Templates"
      read={useGet('/portal/templates', { query: listQuery<{ q: string }>('q') })}
      filters={[searchFilter('Search templates')]}
      next="Without one, subscriptions use the mail of the service."
      columns={[
        { title: 'Key', cell: ({ key }) => <code>{key}</code> },
        { title: 'Kind', cell: ({ kind }) => (kind === 'email' ? 'Mail' : 'Document') },
        { title: 'Subject', minor: true, cell: ({ subject }) => subject },
        ageColumn('Changed', 'updatedAt'),
      ]}
      actions={(template) => <TemplateActions template={template} />}
    />
  </div>
);
