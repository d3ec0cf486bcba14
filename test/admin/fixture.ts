// Runs operators' commands in this process, with arguments as on the command line.
import type { Admin, Outcome } from '../../src/admin/command.ts';
import { parseCommandArguments } from '../../src/admin/command.ts';
import { commands } from '../../src/admin/index.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { type DatabaseAddress, openKnex } from '../../src/db/connect.ts';

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
