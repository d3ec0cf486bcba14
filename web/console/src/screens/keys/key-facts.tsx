// The scopes, secrets and dates of a key as names and values.
import { Facts } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { isRestricted, type Key, rowWords, type Scopes } from './scope-words.ts';

const Lines = ({ lines }: { lines: readonly string[] }) => (
  <ul>
    {lines.map((line) => (
      <li key={line}>{line}</li>
    ))}
  </ul>
);

function managementWords(scopes: Scopes): string {
  if (scopes.permissions.includes('none')) return 'No access';
  if (isRestricted(scopes)) return 'No access: the key is restricted';
  return `Reads${scopes.permissions.includes('write') ? ' and writes' : ''}, within the permissions of its holder`;
}

const scopeFacts = (scopes: Scopes) =>
  [
    ['Versions', scopes.versions.join(', ') || 'All, also later ones'],
    ['Resources', scopes.resources.join(', ') || 'All'],
    [
      'Rows',
      scopes.rows === null ? (
        'All records'
      ) : (
        <Lines
          lines={Object.entries(scopes.rows).map(([resource, conditions]) =>
            resource === '*' ? 'All records of other resources' : rowWords(resource, conditions),
          )}
        />
      ),
    ],
    [
      'Fields',
      scopes.fields && (
        <Lines
          lines={Object.entries(scopes.fields).map(([resource, names]) => `${resource}: ${names.join(', ')}`)}
        />
      ),
    ],
    ['Masked fields', scopes.unmasked ? 'Read as they are' : 'Read masked'],
    ['Management interface', managementWords(scopes)],
  ] as const;

export const KeyFacts = ({ apiKey: key }: { apiKey: Key }) => (
  <Section title="Scopes and secrets">
    <div class="card">
      <Facts
        facts={[
          ...scopeFacts(key.scopes),
          ['Secret', <code>{key.prefix}…</code>],
          ['Expires', <Time at={key.expiresAt} none="Never" />],
          ['Last used', <Time at={key.lastUsedAt} none="Never" />],
          [
            'Created',
            <>
              <Time at={key.createdAt} /> by {key.createdBy.email}
            </>,
          ],
          ['Revoked', key.revokedAt && <Time at={key.revokedAt} />],
        ]}
      />
    </div>
  </Section>
);
