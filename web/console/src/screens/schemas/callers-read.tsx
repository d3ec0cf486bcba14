// What callers with an API key will read: the fields of each resource, those that are personal or confidential
// by name, and a record.

import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Pending } from '../../parts/detail.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import type { Document, Endpoint, LineField } from './document.ts';
import { SampleRecord } from './panel.tsx';

/** Each field, and the fields of lines as `lines.name`. */
export const listFields = ({ fields }: Endpoint): readonly LineField[] =>
  fields.flatMap((field) => [
    field,
    ...(field.fields ?? []).map((line) => ({ ...line, name: `${field.name}.${line.name}` })),
  ]);

const kinds = [
  ['personal', 'warn'],
  ['confidential', 'warn'],
] as const satisfies readonly (readonly [string, Tone])[];

export const WhatCallersRead = ({ id, document }: { id: string; document: Document }) => (
  <ul class="review-resources">
    {document.map((endpoint, index) => (
      <li key={endpoint.name}>
        <Resource id={id} endpoint={endpoint} opened={index === 0} />
      </li>
    ))}
  </ul>
);

function Resource({ id, endpoint, opened }: { id: string; endpoint: Endpoint; opened: boolean }) {
  const [isOpen, setOpen] = useState(opened);
  const fields = listFields(endpoint);
  const tagged = kinds.map(([tag, tone]) => ({
    tag,
    tone,
    named: fields.filter(({ tags }) => tags?.includes(tag)),
  }));
  return (
    <>
      <p>
        <strong>{endpoint.name}</strong> <span class="fine">{formatCount(fields.length, 'field')}</span>
      </p>
      {tagged.map(
        ({ tag, tone, named }) =>
          named.length > 0 && (
            <p key={tag}>
              <Badge tone={tone}>{tag}</Badge>{' '}
              {named.map(({ name, mask }) => (mask === undefined ? name : `${name} (masked)`)).join(', ')}
            </p>
          ),
      )}
      {may('record:read') && (
        <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>Sample of {endpoint.name}</summary>
          {isOpen && <Sample id={id} endpoint={endpoint} />}
        </details>
      )}
    </>
  );
}

function Sample({ id, endpoint: { recordType, fields } }: { id: string; endpoint: Endpoint }) {
  const path = { id, recordType };
  const { data, error, reload } = useGet('/api-schema/{id}/sources/{recordType}', { path });
  if (data === undefined) return <Pending error={error} reload={reload} />;
  return <SampleRecord fields={fields} records={data.records} />;
}
