// The simulated account in a process of its own, so that its memory and time aren't counted as the service's.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from '../src/demo/netsuite/account.ts';

type Asked = { id: number; name: 'createIntegration' | 'uploadCertificate' | 'stop'; args: string[] };
type Told = { id: number; value?: unknown; error?: string };

/** What the bench asks of the account: the set-up pages and the end. */
export type ErpProcess = Pick<NetsuiteAccount, 'url' | 'accountId' | 'createIntegration' | 'uploadCertificate' | 'stop'>;

export async function startErpProcess(options: NetsuiteAccountOptions): Promise<ErpProcess> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: 'inherit' });
  let last = 0;
  const waiting = new Map<number, (told: Told) => void>();
  child.on('message', (told: Told) => waiting.get(told.id)?.(told));
  const ask = <T>(name: Asked['name'] | 'start', args: unknown[]): Promise<T> =>
    new Promise((resolve, reject) => {
      last += 1;
      const id = last;
      waiting.set(id, (told) => {
        waiting.delete(id);
        if (told.error === undefined) resolve(told.value as T);
        else reject(new Error(told.error));
      });
      child.send({ id, name, args });
    });
  const url = await ask<string>('start', [options]);
  return {
    url,
    accountId: options.accountId,
    createIntegration: (name) => ask('createIntegration', [name]),
    uploadCertificate: (clientId, pem) => ask('uploadCertificate', [clientId, pem]),
    stop: async () => {
      const gone = once(child, 'exit');
      await ask('stop', []);
      child.disconnect();
      await gone;
    },
  };
}

function serve(): void {
  let account: NetsuiteAccount | undefined;
  const answer = async (name: string, args: unknown[]): Promise<unknown> => {
    if (name === 'start') {
      account = await startNetsuiteAccount(args[0] as NetsuiteAccountOptions);
      return account.url;
    }
    if (account === undefined) throw new Error('not started');
    const [first = '', second = ''] = args as string[];
    if (name === 'createIntegration') return account.createIntegration(first);
    if (name === 'uploadCertificate') return account.uploadCertificate(first, second);
    return account.stop();
  };
  process.on('message', ({ id, name, args }: { id: number; name: string; args: unknown[] }) => {
    answer(name, args).then(
      (value) => process.send?.({ id, value }),
      (error: unknown) => process.send?.({ id, error: String(error) }),
    );
  });
}

if (process.argv[2] === 'serve') serve();
