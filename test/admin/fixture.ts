// Runs operators' commands in this process, with arguments as on the command line.
import { afterAll } from 'vitest';
import { type Admin, type Outcome, parseCommandArguments } from '../../src/admin/command.ts';
import { commands } from '../../src/admin/index.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { type DatabaseAddress, openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import type { OrganizationSite } from '../setup/use-organization.ts';

export type Operator = {
  /** `operator.run('list-runs', '--stuck')` */
  run(name: string, ...args: string[]): Promise<Outcome & { json: Record<string, unknown> }>;
  close(): Promise<void>;
};

export function createOperator(ctx: Ctx, address: DatabaseAddress): Operator {
  const owner = openKnex(address, 'portal_owner', 2);
  const admin: Admin = { ctx, owner, progress: () => undefined };
  return {
    async run(name, ...args) {
      const command = commands.find((candidate) => candidate.name === name);
      if (command === undefined || command.database === 'none')
        throw new Error(`there is no command ${name} of a database`);
      const outcome = await command.run(admin, parseCommandArguments(command, args).input);
      // As a script reads it.
      return { ...outcome, json: JSON.parse(JSON.stringify(outcome.json)) };
    },
    close: () => owner.destroy(),
  };
}

/** Operators of the service of a test file, for its top level. */
export function useOperators(site: OrganizationSite) {
  const operators: Operator[] = [];
  afterAll(async () => {
    for (const operator of operators) await operator.close();
  });
  return {
    /** With these encryption keys and settings; by default with those of the service. */
    open(keyring = site.ctx.keyring, settings = site.ctx.settings): Operator {
      const operator = createOperator({ ...site.ctx, keyring, settings }, site.database.address);
      operators.push(operator);
      return operator;
    },
    readAudit: (
      organizationId: string,
      action: string,
    ): Promise<{ credential_kind: string; changes: Record<string, unknown> }[]> =>
      inTransaction({ db: site.ctx.db, organizationId }, (tx) =>
        tx('audit_log').where({ action }).orderBy('id').select('credential_kind', 'changes'),
      ),
  };
}
