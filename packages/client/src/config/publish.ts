// Publishes drafts, and waits until a publication has ended.
import { setTimeout as wait } from 'node:timers/promises';
import { UsageError } from '../cli/settings.ts';
import type { Connection, Print } from './connection.ts';
import type { Kind } from './kinds.ts';
import { identityOf, type Organization } from './organization.ts';
import { isObject, type Values } from './schema.ts';

const firstPollMs = 100;
/** Few requests: 60 in a minute are allowed. */
const maxPollMs = 8_000;

const publicationOf = ({ publication }: Values): Values => (isObject(publication) ? publication : {});

/** The object when its publication has ended. Rejects with UsageError, which has the problems, when it failed. */
export async function waitForPublication(
  connection: Connection,
  path: string,
  answer: Values,
): Promise<Values> {
  let latest = answer;
  for (
    let ms = firstPollMs;
    publicationOf(latest)['status'] === 'running';
    ms = Math.min(2 * ms, maxPollMs)
  ) {
    await wait(ms);
    latest = await connection.get(path);
  }
  const { status, problems } = publicationOf(latest);
  if (status !== 'failed' && status !== 'cancelled') return latest;
  const lines = (Array.isArray(problems) ? problems.filter(isObject) : []).map(
    (problem) => `  ${String(problem['path'])}: ${String(problem['message'])}`,
  );
  throw new UsageError([`The publication has ${status}.`, ...lines].join('\n'));
}

/** The newest draft of an object of the file. Rejects as `waitForPublication` and requests do. */
export async function publish(
  organization: Organization,
  kind: Kind,
  { label, values }: { readonly label: string; readonly values: Values },
  print: Print,
): Promise<void> {
  const { connection, list, pathOf, remember } = organization;
  const identity = identityOf(kind, values);
  const all = await list(pathOf(kind));
  const draft = (kind.select?.(all) ?? all).find((each) => identityOf(kind, each) === identity);
  if (draft === undefined) throw new UsageError('There is no draft.');
  const path = pathOf(kind, String(draft['id']));
  const started = await connection.send('POST', `${path}/publish`, { revision: draft['revision'] });
  print(`publishing ${label}`);
  remember(pathOf(kind), await waitForPublication(connection, path, started));
  print(`published ${label}`);
}
