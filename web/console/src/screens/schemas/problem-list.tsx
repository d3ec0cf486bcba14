// Problems and warnings of a draft, each with a link to its field in the editor.
import { Badge } from '../../parts/badge.tsx';
import { base } from '../../router.ts';
import type { Document } from './document.ts';
import { describePlace, findPlace, type Problem } from './problems.ts';
import { focusRow } from './row-cells.tsx';

type Listed = Problem & { readonly blocks?: 'save' | 'publish' };

export const ProblemList = ({
  id,
  document,
  problems,
}: {
  id: string;
  document: Document;
  problems: readonly Listed[];
}) => (
  <ul class="stack">
    {problems.map(({ path, code, message, blocks }) => {
      const { index = 0, row } = findPlace(document, path) ?? {};
      return (
        <li key={`${path} ${code} ${message}`}>
          <a
            href={`${base}/schemas/${id}?resource=${index + 1}&panel=problems`}
            onClick={() => row && focusRow(row.spot)}
          >
            {describePlace(document, path)}
          </a>{' '}
          {message}{' '}
          <Badge tone={blocks ? 'bad' : 'warn'}>
            {blocks ? `blocks ${blocks === 'save' ? 'saving' : 'publishing'}` : 'warning'}
          </Badge>
        </li>
      );
    })}
  </ul>
);
