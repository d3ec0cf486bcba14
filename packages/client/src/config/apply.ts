// Carries a plan out: in the order of the kinds, and up to the first error.
import { UsageError } from '../cli/settings.ts';
import type { Print } from './connection.ts';
import { describeDifference } from './differences.ts';
import { toFailure } from './failures.ts';
import { type Kind, kinds } from './kinds.ts';
import { listMembers } from './missing.ts';
import { idOf, listTargets, type Organization, toFound } from './organization.ts';
import type { Change, Plan } from './plan.ts';
import { publish, waitForPublication } from './publish.ts';
import { toIds } from './references.ts';
import type { Values } from './schema.ts';

type Applying = { readonly organization: Organization; readonly print: Print };

const withIds = (organization: Organization, values: Values): Promise<Values> =>
  toIds(values, async (reference, name) => {
    const [target] = listTargets(await organization.list(reference.path), reference, name);
    if (target !== undefined) return target[reference.id];
    throw new UsageError(`There is no ${reference.noun} ${JSON.stringify(name)}.`);
  }) as Promise<Values>;

function splitExtra({ extra = {} }: Kind, values: Values) {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.filter(([name]) => !Object.hasOwn(extra, name)));
}

/** What an update sends: the changed properties, or all where the interface replaces the object. */
async function updateObject(organization: Organization, change: Change, id: string, present: Values) {
  const { kind, changed, values, found } = change;
  const { update } = organization.description.shapeOf(kind);
  const whole = { ...found?.values, ...values };
  const written = update.method === 'PATCH' ? changed : whole;
  const body = Object.fromEntries(
    Object.entries(splitExtra(kind, written)).filter(([name]) => update.names.has(name)),
  );
  if (Object.keys(body).length === 0) return present;
  const revision = kind.hasRevision ? { revision: present['revision'] } : {};
  return organization.connection.send(
    update.method,
    organization.pathOf(kind, kind.isSingle ? undefined : id),
    { ...(await withIds(organization, body)), ...revision },
  );
}

async function writeObject(organization: Organization, change: Change): Promise<Values> {
  const { kind, found, values } = change;
  if (kind.isSingle) return updateObject(organization, change, '', await organization.readSingle(kind));
  const isImmutable = kind.name === 'apiSchemas' && found?.answer['status'] === 'published';
  if (found !== undefined && !isImmutable) return updateObject(organization, change, found.id, found.answer);
  const body = await withIds(organization, splitExtra(kind, { ...found?.values, ...values }));
  return organization.connection.send('POST', organization.pathOf(kind), body);
}

async function writeMembers(organization: Organization, { changed, found }: Change, path: string) {
  const wanted = changed['members'];
  if (!Array.isArray(wanted)) return;
  const present = Array.isArray(found?.values['members']) ? found.values['members'] : [];
  const ids = await listMembers(organization);
  const { send } = organization.connection;
  for (const address of wanted)
    if (!present.includes(address)) await send('POST', `${path}/members`, { userId: ids.get(address) });
  for (const address of present)
    if (!wanted.includes(address)) await send('DELETE', `${path}/members/${String(ids.get(address))}`);
}

function printSecret({ label, found }: Change, { secret, signature }: Values, print: Print): void {
  if (found !== undefined || signature !== 'v1') return;
  print(
    typeof secret === 'string'
      ? `The secret of ${label}, which is shown once: ${secret}`
      : `The secret of ${label} was lost with the connection: rotate it.`,
  );
}

/** Where the service stores something else than the file has, each plan would have the change again. */
async function printStored({ organization, print }: Applying, { kind, changed }: Change, answer: Values) {
  const { values } = await toFound(organization, kind, answer);
  for (const [name, value] of Object.entries(splitExtra(kind, changed)))
    for (const line of describeDifference(name, value, values[name]))
      print(`  write what the service stores into the file: ${line}`);
}

async function applyChange(applying: Applying, change: Change): Promise<void> {
  const { organization, print } = applying;
  const { kind, label, action, breaks, notes } = change;
  for (const text of breaks) print(`${label} breaks callers: ${text}`);
  for (const text of notes) print(`${label}: ${text}`);
  const answer = await writeObject(organization, change);
  await writeMembers(organization, change, organization.pathOf(kind, idOf(answer)));
  organization.remember(organization.pathOf(kind), answer);
  print(`${action}d ${label}`);
  await printStored(applying, change, answer);
  if (kind.name === 'webhooks') printSecret(change, answer, print);
  if (kind.isSingle) await waitForPublication(organization.connection, organization.pathOf(kind), answer);
}

type Step = { readonly text: string; readonly label: string; readonly run: () => Promise<void> };

/** In order; an object that refers to an unpublished API schema is written once that is published. */
function listSteps(applying: Applying, { changes }: Plan, isPublishing: boolean): Step[] {
  const { organization, print } = applying;
  return kinds.flatMap((kind) => {
    const all = changes.filter((change) => change.kind === kind);
    const written = all.filter(
      ({ action, waitsFor }) => action !== 'unchanged' && (isPublishing || waitsFor === undefined),
    );
    const published = isPublishing ? all.filter(({ isDraft }) => isDraft) : [];
    return [
      ...written.map((change): Step => {
        const text = `${change.action} ${change.label}`;
        return { text, label: change.label, run: () => applyChange(applying, change) };
      }),
      ...published.map(({ label, values }): Step => {
        return {
          ...{ text: `publish ${label}`, label },
          run: () => publish(organization, kind, { label, values }, print),
        };
      }),
    ];
  });
}

/** Rejects with UsageError at the first error, which says what was not done; what was done is printed before. */
export async function applyPlan(
  organization: Organization,
  plan: Plan,
  { isPublishing, print }: { readonly isPublishing: boolean; readonly print: Print },
): Promise<void> {
  const steps = listSteps({ organization, print }, plan, isPublishing);
  const where = `${JSON.stringify(organization.name)} at ${organization.connection.origin}`;
  const count = `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}`;
  if (steps.length > 0) print(`Applying to ${where}: ${count}`);
  for (const [index, { label, run }] of steps.entries()) {
    try {
      await run();
    } catch (error) {
      const failure = toFailure(label, error);
      if (!(failure instanceof UsageError)) throw failure;
      const left = steps.slice(index).map(({ text }) => `Not done: ${text}`);
      throw new UsageError([failure.message, ...left].join('\n'));
    }
  }
  const drafts = isPublishing ? [] : plan.changes.filter(({ isDraft }) => isDraft);
  for (const { label } of drafts) print(`${label} is a draft: publish it with --publish`);
  const waiting = isPublishing ? [] : plan.changes.filter(({ waitsFor }) => waitsFor !== undefined);
  for (const { label, waitsFor } of waiting) print(`Not done: ${label} waits ${waitsFor}`);
  print(steps.length === 0 ? `Nothing to do for ${where}.` : `Done: ${count}.`);
}
