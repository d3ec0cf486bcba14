// One version: the editor while it is a draft, otherwise what was published.
import type { ScreenProps } from '../../router.ts';
import '../../styles/schemas.css';
import { Unread } from '../../parts/detail.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { Editor } from './editor.tsx';
import { aboveVersion } from './new-draft.tsx';
import { Publishing } from './publish.tsx';
import { Published } from './published.tsx';

export function Schema({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/api-schema/{id}', { path: { id } });
  const { data } = read;
  if (data === undefined) return <Unread read={read} title="API version" above={[aboveVersion]} />;
  if (data.status !== 'draft' || !may('api-schema:update')) return <Published version={data} />;
  return data.publication?.status === 'running' ? (
    <Publishing version={data} />
  ) : (
    <Editor key={data.id} version={data} />
  );
}
