// The commands for the nodes of the warehouse on one server without Citus, and their arguments. On a cluster:
// test/scale/citus/operators.
import { beforeAll, describe, expect, it } from 'vitest';
import { BadArguments, parseCommandArguments } from '../../src/admin/command.ts';
import { commands } from '../../src/admin/index.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { type Operator, useOperators } from './fixture.ts';

const site = useOrganization();
const operators = useOperators(site);
let operator: Operator;
let slug: string;

beforeAll(() => {
  operator = operators.open();
  ({ slug } = site);
});

describe('on one server without Citus', () => {
  it('list-placement shows this server with all organizations', async () => {
    const listed = await operator.run('list-placement');
    const nodes = [{ address: null, responds: true, takesRecords: true, organizations: 1 }];
    const placed = { slug, node: 'this server', warehouse: 'current', records: 0, bytes: expect.any(Number) };
    expect(listed).toMatchObject({ incomplete: false, json: { nodes, organizations: [placed] } });
    expect(listed.text).toMatch(/^this server +responds +yes +1 +0 +[1-9]\d* kB$/m);
  });

  it('list-placement names the former server of organizations that are still there', async () => {
    const place = (warehouse: string) => site.admin('organizations').where({ slug }).update({ warehouse });
    const nodes = { former: 'former server', moving: 'former server, being moved' };
    for (const [warehouse, node] of Object.entries(nodes)) {
      await place(warehouse);
      expect((await operator.run('list-placement')).json).toMatchObject({ organizations: [{ slug, node }] });
    }
    await place('current');
  });

  it.each([
    ['move-organization', (): string[] => [slug, '--to', 'worker1:5432']],
    ['rebalance', () => []],
    ['rebalance', () => ['--dry-run']],
    ['rebalance', () => ['--stop']],
  ])('%s is refused', async (name, args) => {
    const message = 'This database is on one server, without Citus';
    await expect(operator.run(name, ...args())).rejects.toThrow(message);
  });
});

describe('addresses', () => {
  const read = (name: string, ...args: string[]): unknown => {
    const command = commands.find((each) => each.name === name);
    return command && parseCommandArguments(command, args).input;
  };

  it('are host and port, with 5432 as default', () => {
    const given = ['--coordinator', 'db1', '--workers', '10.0.0.2:5433,[fd00::3]:5434'];
    const [v4, v6] = [
      { host: '10.0.0.2', port: 5433 },
      { host: 'fd00::3', port: 5434 },
    ];
    const coordinator = { host: 'db1', port: 5432 };
    expect(read('prepare-citus', ...given)).toEqual({ coordinator, workers: [v4, v6] });
    const moved = { organization: 'acme', to: 'worker2:5432' };
    expect(read('move-organization', 'acme', '--to', 'worker2')).toEqual(moved);
  });

  it.each(['a b', 'a:b', 'user@a', 'a:70000', ''])('%j is none', (text) => {
    expect(() => read('prepare-citus', '--workers', text)).toThrow(BadArguments);
    const move = () => read('move-organization', 'acme', '--to', text);
    expect(move).toThrow(/--to <host:port>: must be host:port/);
  });

  it.each([
    ['move-organization', 'acme', '--to', 'a,b'],
    ['prepare-citus', '--coordinator', 'a,b'],
  ])('%s takes one only', (name, ...args) => {
    expect(() => read(name, ...args)).toThrow(/must be host:port/);
  });
});
