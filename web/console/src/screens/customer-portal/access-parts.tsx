// The parts of the form of the portal's settings.
import type { ApiError } from '../../api.ts';
import { findProblem } from '../../parts/field-problems.ts';
import { Check, Checks, Field, Select } from '../../parts/form.tsx';
import { Section } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { type Access, useAccess } from './data.ts';
import { PeopleEntry, RecordsEntry } from './entries.tsx';
import { AddEntry } from './entry-card.tsx';
import type { Settings } from './settings.ts';
import { useSyncedTypes } from './synced-fields.ts';

type PartProps = {
  settings: Settings;
  error: ApiError | undefined;
  onChange: (settings: Settings) => void;
};

const Missing = ({ problem }: { problem: string | undefined }) => (
  <p class={problem === undefined ? 'note' : 'note bad'}>{problem ?? 'There is no entry yet.'}</p>
);

export function Whom({ settings, error, onChange }: PartProps) {
  const { people } = settings;
  const proposed = useAccess().data?.proposed.people ?? [];
  const set = (changed: Settings['people']): void => onChange({ ...settings, people: changed });
  return (
    <Section title="Whom it knows">
      <div class="stack">
        <p class="muted">
          Where the ERP has the addresses of your customers. The people behind them sign in with a code that
          is mailed to them.
        </p>
        {people.length === 0 && <Missing problem={findProblem(error, 'people')} />}
        {people.map((entry, index) => (
          <PeopleEntry
            // Entries have no identity but their place.
            key={`${index} ${entry.recordType}`}
            entry={entry}
            path={`people[${index}]`}
            error={error}
            onChange={(changed) => set(people.with(index, changed))}
            onRemove={() => set(people.toSpliced(index, 1))}
          />
        ))}
        <AddEntry
          label="Record type with addresses"
          action="Add people"
          recordTypes={proposedFirst(useSyncedTypes(), proposed)}
          onAdd={(recordType) =>
            set([
              ...people,
              proposed.find((entry) => entry.recordType === recordType) ?? {
                ...{ recordType, emailField: '', customerField: 'id', conditions: [] },
              },
            ])
          }
        />
        <Check
          label="They also see the records of customers below theirs"
          hint="Such as those of branches; at most 100 customers."
          checked={settings.includeChildren}
          onChange={(includeChildren) => onChange({ ...settings, includeChildren })}
        />
      </div>
    </Section>
  );
}

/** Of these record types those first that are proposed. */
const proposedFirst = (types: readonly string[], proposed: readonly { recordType: string }[]): string[] => {
  const isProposed = (name: string): boolean => proposed.some(({ recordType }) => recordType === name);
  return types.toSorted((one, other) => Number(isProposed(other)) - Number(isProposed(one)));
};

export function What({ settings, error, onChange }: PartProps) {
  const { records } = settings;
  const proposed = useAccess().data?.proposed.records ?? [];
  const set = (changed: Settings['records']): void => onChange({ ...settings, records: changed });
  const shown = new Set(records.map(({ recordType }) => recordType));
  return (
    <Section title="What it shows" id="records">
      <div class="stack">
        <p class="muted">
          Visitors see the records of their customer, and nothing else. What the fields mean decides which
          pages there are: the home page adds up what is due, for example.
        </p>
        {records.length === 0 && <Missing problem={findProblem(error, 'records')} />}
        {records.map((entry, index) => (
          <RecordsEntry
            key={`${index} ${entry.recordType}`}
            entry={entry}
            path={`records[${index}]`}
            error={error}
            onChange={(changed) => set(records.with(index, changed))}
            onRemove={() => set(records.toSpliced(index, 1))}
          />
        ))}
        <AddEntry
          label="Record type to show"
          action="Add records"
          recordTypes={proposedFirst(
            useSyncedTypes().filter((name) => !shown.has(name)),
            proposed,
          )}
          onAdd={(recordType) =>
            set([
              ...records,
              proposed.find((entry) => entry.recordType === recordType) ?? {
                ...{ recordType, customerField: '', role: 'other', fields: {}, conditions: [] },
              },
            ])
          }
        />
        <Check
          label="Your domain also serves the public interface"
          hint="At /api/public, to API keys of your organization; nothing of it is shown to visitors."
          checked={settings.publicApi}
          onChange={(publicApi) => onChange({ ...settings, publicApi })}
        />
      </div>
    </Section>
  );
}

type Role = Settings['unusedRoles'][number];
const roles: readonly (readonly [Role, string])[] = [
  ['invoice', 'Invoices'],
  ['credit', 'Credit notes'],
  ['payment', 'Payments'],
  ['refund', 'Refunds'],
  ['journal', 'Journal entries'],
];
const nameOfRole = (role: Role): string => roles.find(([name]) => name === role)?.[1] ?? role;

const gaps: Readonly<Record<Access['statementGaps'][number]['code'], string>> = {
  not_shown: 'shown by no record type',
  no_date: 'without a date',
  no_amount: 'without an amount',
  no_currency: 'without a currency',
  masked: 'masked by a version',
};

/** Which kinds of documents account statements go without. */
export function Statements({ settings, onChange }: Omit<PartProps, 'error'>) {
  const missing = useAccess().data?.statementGaps ?? [];
  const found = missing.map(
    ({ role, recordType, code }) => `${recordType ?? nameOfRole(role)} (${gaps[code]})`,
  );
  return (
    <Section title="Account statements">
      <Checks
        label="Kinds of documents that your ERP doesn't have"
        hint={
          found.length === 0
            ? 'Visitors are offered statements.'
            : `Statements need every other kind. Missing in what is saved: ${found.join(', ')}.`
        }
        options={roles.map(([, name]) => ({ name }))}
        chosen={settings.unusedRoles.map(nameOfRole)}
        onChange={(names) =>
          onChange({
            ...settings,
            unusedRoles: roles.flatMap(([role, name]) => (names.includes(name) ? [role] : [])),
          })
        }
      />
    </Section>
  );
}

/** Which agent answers visitors, and how often. */
export function Asking({ settings, error, onChange }: PartProps) {
  const { agentId, visitorQuestionsPerDay: perDay } = settings;
  const listed = useGet(may('agent:read') ? '/agents' : null, { query: { pageSize: 100 } }).data?.data ?? [];
  const agents = listed.map(({ id, name, apiVersion }) => [id, `${name} (${apiVersion})`] as const);
  const isListed = agentId === null || agents.some(([id]) => id === agentId);
  return (
    <Section title="Questions">
      <div class="stack">
        <Select
          label="Agent that answers visitors"
          hint="About the records of their customer alone. Its version must declare the field with the customer as scopable, for every record type shown here."
          value={agentId ?? ''}
          problem={findProblem(error, 'agentId')}
          options={[['', 'None'], ...agents, ...(isListed ? [] : [[agentId, 'Another agent'] as const])]}
          onChange={(value) => onChange({ ...settings, agentId: value === '' ? null : value })}
        />
        {agentId !== null && (
          <Field
            label="Questions of a visitor on a day"
            type="number"
            hint="1 to 200. Answers use the agent credits of your organization."
            required
            value={Number.isNaN(perDay) ? '' : String(perDay)}
            problem={findProblem(error, 'visitorQuestionsPerDay')}
            onChange={(value) =>
              onChange({ ...settings, visitorQuestionsPerDay: Number.parseInt(value, 10) })
            }
          />
        )}
      </div>
    </Section>
  );
}

type Language = Settings['defaultLanguage'];
const offered: readonly Language[] = ['en', 'de', 'fr', 'es', 'nl'];
const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });
const nameOf = (language: Language): string => languageNames.of(language) ?? language;

export function SignIn({ settings, error, onChange }: PartProps) {
  const { languages, defaultLanguage, signInLifetimeDays } = settings;
  const problem = findProblem(error, 'languages');
  return (
    <Section title="Sign-in and languages">
      <div class="stack">
        <Field
          label="Days until they sign in again"
          type="number"
          hint="1 to 90."
          required
          value={Number.isNaN(signInLifetimeDays) ? '' : String(signInLifetimeDays)}
          problem={findProblem(error, 'signInLifetimeDays')}
          onChange={(value) => onChange({ ...settings, signInLifetimeDays: Number.parseInt(value, 10) })}
        />
        <Checks
          label="Languages"
          hint={problem}
          options={offered.map((language) => ({ name: nameOf(language) }))}
          chosen={languages.map(nameOf)}
          onChange={(names) =>
            onChange({
              ...settings,
              languages: offered.filter((language) => names.includes(nameOf(language))),
            })
          }
        />
        <Select
          label="Default language"
          value={defaultLanguage}
          problem={findProblem(error, 'defaultLanguage')}
          options={[...new Set([...languages, defaultLanguage])].map((language) => [
            language,
            nameOf(language),
          ])}
          onChange={(value) => onChange({ ...settings, defaultLanguage: value as Language })}
        />
      </div>
    </Section>
  );
}
