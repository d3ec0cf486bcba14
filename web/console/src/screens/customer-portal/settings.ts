// The settings of the portal as they are edited and sent.
import { api } from '../../api.ts';
import type { Access, People } from './data.ts';
import { meanings } from './entries.tsx';

export type Settings = Pick<
  Access,
  | 'people'
  | 'records'
  | 'unusedRoles'
  | 'includeChildren'
  | 'publicApi'
  | 'agentId'
  | 'visitorQuestionsPerDay'
  | 'signInLifetimeDays'
  | 'languages'
  | 'defaultLanguage'
>;

export const toSettings = ({
  people,
  records,
  unusedRoles,
  includeChildren,
  publicApi,
  agentId,
  visitorQuestionsPerDay,
  signInLifetimeDays,
  languages,
  defaultLanguage,
}: Access): Settings => ({
  people,
  records,
  unusedRoles,
  includeChildren,
  publicApi,
  agentId,
  visitorQuestionsPerDay,
  signInLifetimeDays,
  languages,
  defaultLanguage,
});

/** Without the lines that are empty. */
const withoutBlanks = <T extends Pick<People, 'conditions'>>(entry: T): T => ({
  ...entry,
  conditions: entry.conditions.map(({ field, in: values }) => ({
    field,
    in: values.map((value) => value.trim()).filter((value) => value !== ''),
  })),
});

export const sendSettings = (settings: Settings, enabled: boolean, revision: number) =>
  api.PUT('/portal/access', {
    body: {
      ...settings,
      people: settings.people.map(withoutBlanks),
      records: settings.records.map(withoutBlanks),
      enabled,
      revision,
    },
  });

/** The fields of the form that say what is wrong with them. */
export const listPaths = ({ people, records }: Settings): string[] => [
  ...people.flatMap((_, index) =>
    ['recordType', 'emailField', 'customerField', 'conditions'].map((name) => `people[${index}].${name}`),
  ),
  ...records.flatMap((_, index) =>
    ['recordType', 'customerField', 'role', 'conditions', ...meanings.map(([name]) => `fields.${name}`)].map(
      (name) => `records[${index}].${name}`,
    ),
  ),
  ...['people', 'records', 'agentId', 'visitorQuestionsPerDay'],
  ...['signInLifetimeDays', 'languages', 'defaultLanguage'],
];
