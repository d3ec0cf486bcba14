// Counts who can sign in to the portal: in the background, once it is ready and at most hourly when asked.
import type { RequestCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { findLivingMasks } from '../../public/index.ts';
import { findAccess } from './access.store.ts';
import type { Figures } from './figures.schemas.ts';
import * as store from './figures.store.ts';
import { readCustomers, readPeople } from './people.ts';
import { isSharedMailbox } from './shared-mailboxes.ts';
import { nameCustomers, type Portal, type PortalCtx } from './visitor-scope.ts';

const maxExamples = 10;
const maxNamed = 10;
/** Fields may hold many addresses each. */
const maxAddresses = 400_000;

/** The customer of an address, or its customers: few addresses have several. */
type CustomersByAddress = Map<string, string | Set<string>>;

function addCustomer(byAddress: CustomersByAddress, address: string, customer: string): void {
  const found = byAddress.get(address);
  if (found === undefined) {
    if (byAddress.size < maxAddresses) byAddress.set(address, customer);
  } else if (typeof found !== 'string') found.add(customer);
  else if (found !== customer) byAddress.set(address, new Set([found, customer]));
}

type Counted = {
  readonly customers: ReadonlySet<string>;
  readonly byAddress: CustomersByAddress;
  readonly isComplete: boolean;
};

/** The customers are those that the conditions select, where an entry of the settings is about customers. */
async function count(ctx: PortalCtx, portal: Portal, signal: AbortSignal): Promise<Counted> {
  const { people, customerType } = portal.settings;
  const customers = new Set<string>();
  const byAddress: CustomersByAddress = new Map();
  const hasOwn = people.some(({ customerField }) => customerField === 'id');
  const isRead = await readPeople(ctx, portal, {
    signal,
    onPerson: ({ customer, addresses, isCustomer }) => {
      if (isCustomer || (!hasOwn && customerType === undefined)) customers.add(customer);
      for (const { normalized } of addresses) addCustomer(byAddress, normalized, customer);
    },
  });
  const areAll = hasOwn || (await readCustomers(ctx, portal, (id) => void customers.add(id), signal));
  return { customers, byAddress, isComplete: isRead && areAll && byAddress.size < maxAddresses };
}

type Shared = readonly [email: string, customers: readonly string[]];

/** Those of most customers first. */
const chooseExamples = (shared: readonly Shared[]): Shared[] =>
  [...shared]
    .sort(([one, its], [other, others]) => others.length - its.length || (one < other ? -1 : 1))
    .slice(0, maxExamples);

async function nameExamples(ctx: PortalCtx, portal: Portal, examples: readonly Shared[]) {
  const ids = [...new Set(examples.flatMap(([, customers]) => customers.slice(0, maxNamed)))];
  const names = new Map((await nameCustomers(ctx, portal, ids)).map(({ id, name }) => [id, name]));
  return examples.map(([email, customers]) => ({
    email,
    customers: customers.slice(0, maxNamed).map((id) => ({ id, name: names.get(id) ?? id })),
  }));
}

async function toFigures(ctx: PortalCtx, portal: Portal, counted: Counted): Promise<Figures> {
  const { customers, byAddress, isComplete } = counted;
  const reachable = new Set<string>();
  const addresses = [...byAddress].flatMap(([email, all]): Shared[] => {
    const own = (typeof all === 'string' ? [all] : [...all]).filter((id) => customers.has(id));
    for (const id of own) reachable.add(id);
    return own.length === 0 ? [] : [[email, own]];
  });
  const shared = addresses.filter(([, own]) => own.length > 1);
  const mailboxes = addresses.filter(([email]) => isSharedMailbox(email));
  return {
    customers: customers.size,
    withAddress: reachable.size,
    withoutAddress: customers.size - reachable.size,
    addresses: addresses.length,
    sharedAddresses: {
      count: shared.length,
      examples: await nameExamples(ctx, portal, chooseExamples(shared)),
    },
    sharedMailboxes: {
      count: mailboxes.length,
      examples: await nameExamples(ctx, portal, chooseExamples(mailboxes)),
    },
    truncated: !isComplete,
    asOf: instant(ctx.clock.now()),
  };
}

async function countIfDue(ctx: PortalCtx, signal: AbortSignal): Promise<void> {
  const { organizationId } = ctx;
  const rows = await inTransaction(ctx, (tx) => findAccess(tx, organizationId));
  const { settings, document = null, revision = 0 } = rows?.live ?? {};
  if (settings === undefined || document === null) return;
  if (!(await inTransaction(ctx, (tx) => store.claimFigures(tx, organizationId, revision)))) return;
  try {
    const portal = { settings, document };
    const figures = await toFigures(ctx, portal, await count(ctx, portal, signal));
    await inTransaction(ctx, (tx) => store.saveFigures(tx, organizationId, revision, figures));
  } catch (error) {
    await inTransaction(ctx, (tx) => store.releaseFigures(tx, organizationId, revision));
    if (!signal.aborted) throw error;
  }
}

/** Counts in the background, unless that was done within the hour. `before`: what to wait for first. */
export function startFigures(ctx: PortalCtx, before: Promise<void> = Promise.resolve()): void {
  ctx.work.trackOnce('portal-figures', ctx.organizationId, (signal) =>
    before
      .then(() => countIfDue(ctx, signal))
      .catch((error: unknown) =>
        ctx.log.warn(
          { err: error, organizationId: ctx.organizationId },
          'the figures of a portal could not be counted; they are counted again when someone asks',
        ),
      ),
  );
}

const withoutExamples = (figures: Figures): Figures => ({
  ...figures,
  sharedAddresses: { ...figures.sharedAddresses, examples: [] },
  sharedMailboxes: { ...figures.sharedMailboxes, examples: [] },
});

/** Whether the caller may read the addresses of people as the ERP has them. */
async function mayReadAddresses(ctx: RequestCtx, { settings }: Pick<Portal, 'settings'>): Promise<boolean> {
  const { permissions, reads } = ctx.principal;
  if (!permissions.has('record:read')) return false;
  if (reads.unmasked) return true;
  const masks = await findLivingMasks(ctx);
  return settings.people.every(
    ({ recordType, emailField }) => masks.get(recordType)?.has(emailField) !== true,
  );
}

/** As they were last counted; null before that. Starts counting when that is due. */
export async function readFigures(ctx: RequestCtx, revision: number, portal: Pick<Portal, 'settings'>) {
  const row = await inTransaction(ctx, (tx) => store.findFigures(tx, ctx.organizationId, revision));
  if (row?.is_due === true) startFigures(ctx);
  const figures = row?.figures ?? null;
  return figures === null || (await mayReadAddresses(ctx, portal)) ? figures : withoutExamples(figures);
}
