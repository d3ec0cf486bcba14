// Re-encrypts all encrypted values with the first key of ENCRYPTION_KEY while services run. Rows are locked
// only while their batch is written, and each batch is committed: it may be interrupted and run again. It
// starts only when every running process has the new key: others couldn't decrypt the new values.
import type { Knex } from 'knex';
import { z } from 'zod';
import { DecryptionError, type Keyring } from '../core/secrets/keyring.ts';
import { findProcessesWithoutKey, waitForProcessesWithoutKey } from '../db/presence.ts';
import { type Admin, defineCommand, flag, type Outcome, RefusedCommand } from './command.ts';
import {
  countByKey,
  type EncryptedColumn,
  type EncryptedRow,
  encryptedColumns,
  findUnlistedColumns,
  readEncryptedRows,
  writeEncryptedValue,
} from './encrypted-columns.ts';
import { auditOperatorIn } from './operator.ts';
import { textTable } from './text-table.ts';

/** Another pass finds what a process encrypted with an old key meanwhile; after these, one keeps doing it. */
const maxPasses = 3;

type Progress = { count: number; readonly organizations: Map<string, number> };

/** Undefined for a value that can't be decrypted: it remains as it is, and is counted at the end. */
function reencrypt(keyring: Keyring, { ciphertext, bindTo }: EncryptedRow): string | undefined {
  try {
    return keyring.encrypt(keyring.decrypt(ciphertext, bindTo), bindTo);
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

/** Re-encrypts one batch in a transaction of its own. Returns its last row; undefined when none were left. */
async function reencryptBatch(
  owner: Knex,
  keyring: Keyring,
  column: EncryptedColumn,
  after: EncryptedRow | undefined,
  progress: Progress,
) {
  const [current] = keyring.keyIds;
  return owner.transaction(async (tx) => {
    await tx.raw("set local lock_timeout = '10s'");
    const rows = await readEncryptedRows(tx, column, { after, not: current, lock: true });
    for (const row of rows) {
      const ciphertext = reencrypt(keyring, row);
      if (ciphertext === undefined) continue;
      await writeEncryptedValue(tx, column, row, ciphertext);
      progress.count += 1;
      progress.organizations.set(
        row.organizationId,
        (progress.organizations.get(row.organizationId) ?? 0) + 1,
      );
    }
    return rows.at(-1);
  });
}

/** Returns the number of re-encrypted values. */
async function reencryptColumn(
  { owner, ctx: { keyring } }: Admin,
  column: EncryptedColumn,
  organizations: Progress['organizations'],
): Promise<number> {
  const progress: Progress = { count: 0, organizations };
  let last: EncryptedRow | undefined;
  do last = await reencryptBatch(owner, keyring, column, last, progress);
  while (last !== undefined);
  return progress.count;
}

type Left = {
  readonly table: string;
  readonly column: string;
  readonly keyId: string;
  readonly values: number;
  readonly known: boolean;
};

/** Counts the values that are encrypted with other keys than the current one. */
async function findLeft({ owner, ctx: { keyring } }: Admin): Promise<Left[]> {
  const [current] = keyring.keyIds;
  const left: Left[] = [];
  for (const encrypted of encryptedColumns)
    for (const [keyId, values] of await countByKey(owner, encrypted))
      if (keyId !== current)
        left.push({
          table: encrypted.table,
          column: encrypted.column,
          keyId,
          values,
          known: keyring.keyIds.includes(keyId),
        });
  return left;
}

const plural = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

const withoutKey = ({ owner, ctx }: Admin) => findProcessesWithoutKey(owner, ctx.keyring.fingerprints[0]);

/** Rejects with RefusedCommand when a running process lacks the new key. */
async function assertKeyEverywhere({ owner, ctx: { clock, keyring } }: Admin): Promise<void> {
  const lacking = await waitForProcessesWithoutKey(owner, clock, keyring.fingerprints[0]);
  if (lacking.length > 0)
    throw new RefusedCommand(`Nothing was changed. ${describeLacking(lacking, keyring)}`);
}

const describeLacking = (lacking: readonly string[], { keyIds: [current] }: Keyring): string =>
  `These processes (host:process id) lack the key ${current}, or have different bytes under that id: ${lacking.join(', ')}. ` +
  'Add it to their ENCRYPTION_KEY, restart them, and run this command again.';

type Remaining = {
  readonly left: readonly Left[];
  readonly unlisted: readonly string[];
  readonly lacking: readonly string[];
};

/** Tells the operator what to do next. */
function advise({ left, unlisted, lacking }: Remaining, keyring: Keyring): string[] {
  const [, ...former] = keyring.keyIds;
  const lines = lacking.length === 0 ? [] : [describeLacking(lacking, keyring)];
  const foreign = [...new Set(left.filter(({ known }) => !known).map(({ keyId }) => keyId))];
  const old = [...new Set(left.filter(({ known }) => known).map(({ keyId }) => keyId))];
  if (foreign.length > 0)
    lines.push(
      `Some values are encrypted with keys that are missing in ENCRYPTION_KEY: ${foreign.join(', ')}. Add these after the first key and run this command again.`,
    );
  if (old.length > 0)
    lines.push(
      `Some values are still encrypted with ${old.join(', ')}. Either the new key isn't first in a process's ENCRYPTION_KEY, or the old key's bytes are wrong.`,
    );
  if (unlisted.length > 0)
    lines.push(
      `Encrypted values where this version expects none: ${unlisted.join(', ')}. Keep all keys and report this as a bug.`,
    );
  if (lines.length === 0 && former.length === 0)
    lines.push(
      'There was nothing to rotate: ENCRYPTION_KEY has no other key, and no value is encrypted with one. See --help for the steps.',
    );
  else if (lines.length === 0)
    lines.push(
      `No value is encrypted with ${former.join(', ')} any more. Keep it after the first key for 30 days, because it verifies the /changes tokens` +
        ' that were issued with it. Clients with an older token must start again without "since".',
    );
  return lines;
}

type Rotated = { readonly count: number; readonly left: Left[] };

/** Makes passes over all columns until no value remains that can be re-encrypted. */
async function reencryptAll(admin: Admin, organizations: Progress['organizations']): Promise<Rotated> {
  let total = 0;
  for (let pass = 1; ; pass += 1) {
    for (const column of encryptedColumns) {
      const count = await reencryptColumn(admin, column, organizations);
      admin.progress(`${column.table}.${column.column}: ${count} re-encrypted`);
      total += count;
    }
    const left = await findLeft(admin);
    if (pass === maxPasses || !left.some(({ known }) => known)) return { count: total, left };
  }
}

/** Records the number of values in each organization's audit log, also when the rotation was interrupted. */
async function rotate(admin: Admin): Promise<Rotated> {
  const organizations = new Map<string, number>();
  const [to] = admin.ctx.keyring.keyIds;
  try {
    return await reencryptAll(admin, organizations);
  } finally {
    for (const [id, values] of organizations)
      await auditOperatorIn(admin, id, 'encryption-key.rotate', ['organization', id], { values, to });
  }
}

async function runRotation(admin: Admin, dryRun: boolean): Promise<Outcome> {
  const [current, ...former] = admin.ctx.keyring.keyIds;
  if (!dryRun) await assertKeyEverywhere(admin);
  const { count: closed, left } = dryRun ? { count: 0, left: await findLeft(admin) } : await rotate(admin);
  // Includes processes that started in the meantime.
  const lacking = await withoutKey(admin);
  const others = [...new Set([...former, ...left.map(({ keyId }) => keyId)])].filter((id) =>
    /^[A-Za-z0-9_-]{1,32}$/.test(id),
  );
  const unlisted = others.length === 0 ? [] : await findUnlistedColumns(admin.owner, others);
  const pending = left.filter(({ known }) => known).reduce((sum, { values }) => sum + values, 0);
  const head = dryRun
    ? `${plural(pending, 'value')} would be re-encrypted with the key ${current}`
    : `${plural(closed, 'value')} re-encrypted with the key ${current}`;
  const table = textTable(
    left.map(({ table: name, column, keyId, values }) => ({
      column: `${name}.${column}`,
      key: keyId,
      values,
    })),
  );
  const needsNoAdvice = dryRun && lacking.length === 0 && left.every(({ known }) => known);
  const advice = needsNoAdvice ? [] : advise({ left, unlisted, lacking }, admin.ctx.keyring);
  return {
    json: {
      key: current,
      dryRun,
      closed,
      left: left.map(({ known: _, ...rest }) => rest),
      unlisted,
      lacking,
    },
    text: [head, ...(table === '' ? [] : [table]), ...advice].join('\n'),
    incomplete: !dryRun && left.length + unlisted.length + lacking.length > 0,
  };
}

export const rotateEncryptionKeyCommand = defineCommand({
  name: 'rotate-encryption-key',
  summary: 'Re-encrypts all encrypted values with the first key of ENCRYPTION_KEY.',
  about: `1. Add the new key after the old one in ENCRYPTION_KEY (<old>,<new>) and restart every process: now all can decrypt with both.
2. Put the new key first (<new>,<old>) and restart every process: from now on all encrypt with it.
3. Run this command with the same ENCRYPTION_KEY. Services keep running. It may be interrupted and run again; at the end it counts what remains.
4. Keep the old key after the new one for 30 days, because it verifies the /changes tokens that it signed, then remove it.
While a running process lacks the new key, nothing is changed and the output lists its host and process id. A process that is suspended for
a minute counts as ended; processes of versions without this protection are not detected.
A key that the service created by itself (DATA_DIR/encryption-key, outside production) is written local:<text of that file>.
Exit code 3: values remain that are encrypted with another key; the output says which.`,
  exclusive: true,
  input: z.strictObject({ dryRun: flag('only count what would be re-encrypted') }),
  run: (admin, { dryRun }) => runRotation(admin, dryRun),
});
