// Tryton, an ERP that this service wasn't written for: does the contract of connectors hold?
import { spawnSync } from 'node:child_process';
import { connectorKinds } from '../../../src/connectors/kinds.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { describeErp, type ForeignErp } from '../suite.ts';
import { startBooks } from './books.ts';
import { TrytonSecrets, TrytonSettings, tryton } from './connector.ts';

const isMissing = spawnSync('trytond-admin', ['--version']).status !== 0;

async function start(): Promise<ForeignErp> {
  const books = await startBooks();
  const { url, database, user, password } = books;
  return {
    ...{ url, kind: 'tryton', recordType: 'party_party', column: 'f_name' },
    kinds: {
      ...connectorKinds,
      tryton: (ctx, settings, secrets) =>
        tryton.create(ctx, TrytonSettings.parse(settings), TrytonSecrets.parse(secrets)),
    },
    settings: (at) => ({ url: at, database, user }),
    secrets: { password },
    wrongSecrets: { password: 'guess' },
    create: async (names) =>
      (
        (await books.call(
          'model.party.party.create',
          names.map((name) => ({ name })),
          {},
        )) as number[]
      ).map(String),
    rename: (ids, name) => books.call('model.party.party.write', ids.map(Number), { name }, {}),
    remove: (ids) => books.call('model.party.party.delete', ids.map(Number), {}),
    truth: async () =>
      new Map(
        books
          .query('select id, name from party_party order by id')
          .map(({ id, name }) => [String(id), name === null ? null : String(name)]),
      ),
    stop: books.stop,
  };
}

describeIf('Tryton', isMissing ? 'Tryton is not installed' : undefined, () => {
  describeErp('in runs', start);
});
