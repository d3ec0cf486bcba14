// Closes everything that is sealed anew under the first key of ENCRYPTION_KEY, while services run. A row is locked for as long as it
// takes to write it; whatever was done stays done, so the command may be broken off and given again. It begins only when every living
// process has the new key: one without it could open nothing of what was closed anew.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { z } from 'zod';
import { type Keyring, UnreadableBox } from '../core/keyring.ts';
import { findWithoutKey } from '../db/presence.ts';
import { type Admin, defineCommand, flag, type Outcome, RefusedCommand } from './command.ts';
import { auditOnly } from './operator.ts';
import { countByKey, findUnlisted, readSealed, type SealedColumn, type SealedRow, sealedColumns, writeSealed } from './sealed-columns.ts';
import { textTable } from './text-table.ts';

/** Whoever seals under an old key meanwhile is found by another round; after so many it is a process that does so for good. */
const mostRounds = 3;

type Done = { closed: number; readonly organizations: Map<string, number> };

/** Undefined for a box that doesn't open: it stays, and is counted at the end. */
function reseal(keyring: Keyring, { box, bindTo }: SealedRow): string | undefined {
  try {
    return keyring.seal(keyring.open(box, bindTo), bindTo);
  } catch (error) {
    if (error instanceof UnreadableBox) return undefined;
    throw error;
  }
}

/** One batch in a transaction of its own; answers its last row, or undefined when nothing was left. */
async function closeBatch(owner: Knex, keyring: Keyring, sealed: SealedColumn, after: SealedRow | undefined, done: Done) {
  const [current] = keyring.keyIds;
  return owner.transaction(async (tx) => {
    await tx.raw("set local lock_timeout = '10s'");
    const rows = await readSealed(tx, sealed, { after, not: current, lock: true });
    for (const row of rows) {
      const box = reseal(keyring, row);
      if (box === undefined) continue;
      await writeSealed(tx, sealed, row, box);
      done.closed += 1;
      done.organizations.set(row.organizationId, (done.organizations.get(row.organizationId) ?? 0) + 1);
    }
    return rows.at(-1);
  });
}

async function closeColumn({ owner, ctx: { keyring } }: Admin, sealed: SealedColumn, organizations: Done['organizations']): Promise<Done> {
  const done: Done = { closed: 0, organizations };
  let last: SealedRow | undefined;
  do last = await closeBatch(owner, keyring, sealed, last, done);
  while (last !== undefined);
  return done;
}

type Left = { readonly table: string; readonly column: string; readonly keyId: string; readonly values: number; readonly known: boolean };

async function findLeft({ owner, ctx: { keyring } }: Admin): Promise<Left[]> {
  const [current] = keyring.keyIds;
  const left: Left[] = [];
  for (const sealed of sealedColumns)
    for (const [keyId, values] of await countByKey(owner, sealed))
      if (keyId !== current)
        left.push({ table: sealed.table, column: sealed.column, keyId, values, known: keyring.keyIds.includes(keyId) });
  return left;
}

const plural = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

const withoutKey = ({ owner, ctx }: Admin): Promise<string[]> => findWithoutKey(owner, ctx.keyring.marks[0]);

/** A process that has just ended is seen for a moment longer. */
const lastMomentMs = 5_000;
const lookEveryMs = 250;

async function requireKeyEverywhere(admin: Admin): Promise<void> {
  const { clock, keyring } = admin.ctx;
  const end = clock.monotonicMs() + lastMomentMs;
  for (;;) {
    const lacking = await withoutKey(admin);
    if (lacking.length === 0) return;
    if (clock.monotonicMs() > end) throw new RefusedCommand(`Nothing was changed. ${wordsOfLacking(lacking, keyring)}`);
    await sleep(lookEveryMs);
  }
}

const wordsOfLacking = (lacking: readonly string[], { keyIds: [current] }: Keyring): string =>
  `Without the key ${current}, or with other bytes under that name, run (host:process id): ${lacking.join(', ')}. ` +
  'Put it into their ENCRYPTION_KEY, restart them, and repeat this.';

type Found = { readonly left: readonly Left[]; readonly unlisted: readonly string[]; readonly lacking: readonly string[] };

/** What is to be done next, in words. */
function advise({ left, unlisted, lacking }: Found, keyring: Keyring): string[] {
  const [, ...former] = keyring.keyIds;
  const lines = lacking.length === 0 ? [] : [wordsOfLacking(lacking, keyring)];
  const foreign = [...new Set(left.filter(({ known }) => !known).map(({ keyId }) => keyId))];
  const old = [...new Set(left.filter(({ known }) => known).map(({ keyId }) => keyId))];
  if (foreign.length > 0)
    lines.push(`Closed by keys that ENCRYPTION_KEY does not name: ${foreign.join(', ')}. Put them behind the first one and repeat this.`);
  if (old.length > 0)
    lines.push(
      `Still under ${old.join(', ')}: either a process that has the new key not in front writes there, or the key's bytes are not those that closed them.`,
    );
  if (unlisted.length > 0)
    lines.push(`Sealed values where this version expects none: ${unlisted.join(', ')}. Keep every key and report it as a bug.`);
  if (lines.length === 0 && former.length === 0)
    lines.push('There is no other key, and nothing is under one: there was nothing to rotate. --help has the order of steps.');
  else if (lines.length === 0)
    lines.push(
      `Nothing is left under ${former.join(', ')}. Keep it behind the first key for 30 days: tokens of /changes that were given under it are` +
        ' known by it until then; whoever shows one later begins again without "since".',
    );
  return lines;
}

type Rotated = { readonly closed: number; readonly left: Left[] };

/** Round by round, until nothing is left that can be closed. */
async function closeAll(admin: Admin, organizations: Done['organizations']): Promise<Rotated> {
  let closed = 0;
  for (let round = 1; ; round += 1) {
    for (const sealed of sealedColumns) {
      const done = await closeColumn(admin, sealed, organizations);
      admin.say(`${sealed.table}.${sealed.column}: ${done.closed} closed anew`);
      closed += done.closed;
    }
    const left = await findLeft(admin);
    if (round === mostRounds || !left.some(({ known }) => known)) return { closed, left };
  }
}

/** What was done is in the audit log of each organization, also of a rotation that was broken off. */
async function rotate(admin: Admin): Promise<Rotated> {
  const organizations = new Map<string, number>();
  const [to] = admin.ctx.keyring.keyIds;
  try {
    return await closeAll(admin, organizations);
  } finally {
    for (const [id, values] of organizations)
      await auditOnly(admin, id, { action: 'encryption-key.rotate', target: { type: 'organization', id }, changes: { values, to } });
  }
}

async function outcomeOf(admin: Admin, dryRun: boolean): Promise<Outcome> {
  const [current, ...former] = admin.ctx.keyring.keyIds;
  if (!dryRun) await requireKeyEverywhere(admin);
  const { closed, left } = dryRun ? { closed: 0, left: await findLeft(admin) } : await rotate(admin);
  // Also those that have started meanwhile.
  const lacking = await withoutKey(admin);
  const others = [...new Set([...former, ...left.map(({ keyId }) => keyId)])].filter((id) => /^[A-Za-z0-9_-]{1,32}$/.test(id));
  const unlisted = others.length === 0 ? [] : await findUnlisted(admin.owner, others);
  const toClose = left.filter(({ known }) => known).reduce((sum, { values }) => sum + values, 0);
  const head = dryRun
    ? `${plural(toClose, 'value')} would be closed anew under ${current}`
    : `${plural(closed, 'value')} closed anew under ${current}`;
  const table = textTable(left.map(({ table: name, column, keyId, values }) => ({ column: `${name}.${column}`, key: keyId, values })));
  const nothingToSay = dryRun && lacking.length === 0 && left.every(({ known }) => known);
  const advice = nothingToSay ? [] : advise({ left, unlisted, lacking }, admin.ctx.keyring);
  return {
    json: { key: current, dryRun, closed, left: left.map(({ known: _, ...rest }) => rest), unlisted, lacking },
    text: [head, ...(table === '' ? [] : [table]), ...advice].join('\n'),
    left: !dryRun && left.length + unlisted.length + lacking.length > 0,
  };
}

export const rotateEncryptionKey = defineCommand({
  name: 'rotate-encryption-key',
  summary: 'Closes everything that is sealed anew under the first key of ENCRYPTION_KEY.',
  about: `1. Put the new key behind the old one in ENCRYPTION_KEY (<old>,<new>) and restart every process: each can open both now.
2. Put the new key in front (<new>,<old>) and restart every process: what is sealed from now on is under it.
3. Run this, with the same ENCRYPTION_KEY. Services go on meanwhile. It may be broken off and given again, and counts what is left at the end.
4. Keep the old key behind the new one for 30 days, for the tokens of /changes that it signed, then take it out.
While a process runs that lacks the new key nothing is done, and its host and process id are named. One that stands still for a minute
counts as ended; those of a version before this protection are not seen.
A key that the service made by itself (DATA_DIR/encryption-key, outside production) is named local:<text of that file>.
Exit code 3: something is left under another key; the output says what.`,
  database: 'check',
  alone: true,
  given: z.strictObject({ dryRun: flag('only count what would be closed anew') }),
  run: (admin, { dryRun }) => outcomeOf(admin, dryRun),
});
