// The steps from an empty organization to the first request of its API, with the state of each. Pure, but for
// the permissions.
import { formatNumber } from '../format.ts';
import type { OverviewData } from '../screens/overview/data.ts';
import { may, mayConnection } from '../session.ts';

export type Step = {
  readonly title: string;
  readonly text: string;
  readonly isDone: boolean;
  /** What happens at the moment, such as a run. What failed is among the problems. */
  readonly note?: string | undefined;
  /** The way to do it: below /console. Null: the person may not. */
  readonly action: { readonly to: string; readonly label: string } | null;
};

const all = (...permissions: readonly string[]): boolean => permissions.every((one) => may(one));
const toAction = (isAllowed: boolean, to: string, label: string): Step['action'] =>
  isAllowed ? { to, label } : null;

function connect({ setUp: { connectionTested, firstSucceededSync }, connection }: OverviewData): Step[] {
  if (connectionTested === null) return [];
  // Once records came, the step is done: that the connection fails now is a problem, not a step.
  const isDone = connectionTested || firstSucceededSync === true;
  const isBegun = connection?.configured === true;
  return [
    {
      title: 'Connect your ERP',
      text: 'Choose NetSuite or another ERP, enter how the service signs in to it, and test the connection.',
      isDone,
      action: toAction(mayConnection('update'), '/connection', isBegun ? 'Continue' : 'Connect your ERP'),
    },
  ];
}

function chooseTypes({ setUp: { firstSync }, syncs }: OverviewData): Step[] {
  if (firstSync === null) return [];
  const chosen = syncs?.total ?? 0;
  return [
    {
      title: 'Choose record types',
      text:
        chosen > 0
          ? `${formatNumber(chosen)} chosen.`
          : 'Such as customers and invoices. Each gets a sync of the fields that you choose.',
      isDone: firstSync,
      action: toAction(all('sync:create') && mayConnection('read'), '/record-types', 'Choose record types'),
    },
  ];
}

function runFirst({ setUp: { firstSucceededSync }, syncs }: OverviewData): Step[] {
  if (firstSucceededSync === null || syncs === null) return [];
  const running = syncs.configs.find(({ state }) => state === 'running');
  const [first = null] = syncs.configs;
  const to = syncs.total === 1 && first !== null ? `/syncs/${first.id}` : '/syncs';
  return [
    {
      title: 'Finish the first sync',
      text: 'The first run reads all records and compares them with the ERP. Later ones read what changed.',
      isDone: firstSucceededSync,
      note: running && `Running, ${running.lastRun?.percent ?? 0} %`,
      action: running?.lastRun
        ? { to: `/runs/${running.lastRun.id}`, label: 'Follow the run' }
        : toAction(all('sync:create'), to, first?.lastRun ? 'Show the runs' : 'Start the first run'),
    },
  ];
}

function publish({ setUp: { publishedVersion }, versions }: OverviewData): Step[] {
  if (publishedVersion === null) return [];
  const draft = versions?.find(({ status }) => status === 'draft');
  const isPublishing = draft?.publication === 'running';
  const label = draft === undefined ? 'Create v1' : `Open the draft ${draft.version}`;
  return [
    {
      title: 'Publish v1',
      text: 'Names, fields, filters and sorts are proposed from your records. Publishing proves that every read is fast.',
      isDone: publishedVersion,
      note: isPublishing ? 'Publishing' : undefined,
      action: isPublishing
        ? { to: `/schemas/${draft.id}/publish`, label: 'Follow it' }
        : toAction(
            all('api-schema:create'),
            draft === undefined ? '/schemas' : `/schemas/${draft.id}`,
            label,
          ),
    },
  ];
}

function useKey({ setUp: { apiKeyUsed }, keys }: OverviewData): Step[] {
  if (apiKeyUsed === null || keys === null) return [];
  return [
    {
      title: 'Create an API key',
      text: 'It says which versions, resources and rows its holder may read.',
      isDone: apiKeyUsed || keys.active > 0,
      action: toAction(all('api-key:create'), '/keys/new', 'Create an API key'),
    },
    {
      title: 'Send the first request',
      text: 'With the key, from a program or a terminal: each resource shows its address and a command to copy.',
      isDone: apiKeyUsed,
      action: toAction(all('record:read'), '/data', 'Show the commands'),
    },
  ];
}

/** Those whose state the person may see, in their order. */
export const listSteps = (data: OverviewData): readonly Step[] =>
  [connect, chooseTypes, runFirst, publish, useKey].flatMap((step) => step(data));

/** Whether there is anything to show besides the steps. */
export function hasStarted({ syncs, versions, keys, payments }: OverviewData): boolean {
  const isFed = (syncs?.total ?? 0) > 0 || (versions?.length ?? 0) > 0 || payments?.enabled === true;
  return isFed || (syncs === null && versions === null && (keys?.active ?? 0) > 0);
}
