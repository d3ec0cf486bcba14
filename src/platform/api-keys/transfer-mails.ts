// Mails about secrets that a former member may know: that they will end, and that they have ended. Pure.
import { countRowsThatFit, type MailContent, type RecordTable } from '../../mail/index.ts';

export type EndingSecret = {
  readonly name: string;
  /** Null for a secret that was rotated away: only the prefix of the current one is stored. */
  readonly prefix: string | null;
  /** E-mail address of the former member. */
  readonly from: string;
  readonly endsAt: Date;
};

const instantText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const describeSecrets = (count: number, organization: string): string =>
  count === 1
    ? `The secret of an API key of ${organization}`
    : `The secrets of ${count} API keys of ${organization}`;

function buildTable(
  secrets: readonly EndingSecret[],
  endLabel: string,
): { table: RecordTable; more: string[] } {
  const all: RecordTable = {
    columns: ['Key', 'Secret', 'From', endLabel].map((label) => ({ label, numeric: false })),
    rows: secrets.map(({ name, prefix, from, endsAt }) => [
      name,
      prefix === null ? 'the one before the last rotation' : `${prefix}…`,
      from,
      instantText(endsAt),
    ]),
  };
  const table = { ...all, rows: all.rows.slice(0, countRowsThatFit(all)) };
  const left = all.rows.length - table.rows.length;
  return { table, more: left > 0 ? [`And ${left} more.`] : [] };
}

type About = { readonly organization: string; readonly publicUrl: string };

/** `secrets` must not be empty. */
export function secretsWillEndMail(
  secrets: readonly EndingSecret[],
  { organization, publicUrl }: About,
): MailContent {
  const base = `${publicUrl}/api/platform/v1/api-keys`;
  const { table, more } = buildTable(secrets, 'Secret ends');
  return {
    title: `${describeSecrets(secrets.length, organization)} will end`,
    paragraphs: [
      `${secrets[0]?.from} is no longer a member of ${organization}, and may know the secrets below. Until they end, they keep reading the public interface. After that, requests with them get 401.`,
      `What to do: give each application that is still needed a new secret with POST ${base}/{id}/rotate. To keep a secret although the former member may know it, use POST ${base}/{id}/keep-secret. Both require the permission api-key:update.`,
      ...more,
    ],
    table,
    action: { label: 'View the keys', url: base },
    notes: [`You receive this mail because these keys act for you in ${organization}.`],
  };
}

/** `secrets` must not be empty. */
export function secretsEndedMail(
  secrets: readonly EndingSecret[],
  { organization, publicUrl }: About,
): MailContent {
  const base = `${publicUrl}/api/platform/v1/api-keys`;
  const { table, more } = buildTable(secrets, 'Secret ended');
  return {
    title: `${describeSecrets(secrets.length, organization)} ${secrets.length === 1 ? 'has' : 'have'} ended`,
    paragraphs: [
      'The keys were transferred from a former member, and neither rotated nor kept. Requests with the secrets below now get 401.',
      `What to do: to use a key again, create a new secret with POST ${base}/{id}/rotate (permission api-key:update). Revoke the keys that are no longer needed.`,
      ...more,
    ],
    table,
    action: { label: 'View the keys', url: base },
    notes: [`You receive this mail because these keys act for you in ${organization}.`],
  };
}
