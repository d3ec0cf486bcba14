// An operator's hand in this process: commands as they are typed, without the process around them.
import type { Admin, Outcome } from '../../src/admin/command.ts';
import { readGiven } from '../../src/admin/command.ts';
import { commands } from '../../src/admin/index.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { type Address, openKnex } from '../../src/db/connect.ts';

export type Operator = {
  /** `operator.run('list-runs', '--stuck')` */
  run(name: string, ...args: string[]): Promise<Outcome & { json: Record<string, unknown> }>;
  close(): Promise<void>;
};

export function operatorOf(ctx: Ctx, address: Address): Operator {
  const owner = openKnex(address, 'portal_owner', 2);
  const admin: Admin = { ctx, owner, say: () => undefined };
  return {
    async run(name, ...args) {
      const command = commands.find((candidate) => candidate.name === name);
      if (command === undefined) throw new Error(`there is no command ${name}`);
      const outcome = await command.run(admin, readGiven(command, args).given);
      // As a script reads it.
      return { ...outcome, json: JSON.parse(JSON.stringify(outcome.json)) };
    },
    close: () => owner.destroy(),
  };
}
