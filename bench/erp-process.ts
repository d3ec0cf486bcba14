// Runs the simulated NetSuite account in its own process, so that its memory and CPU time aren't counted as
// the service's.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { NetsuiteAccount, NetsuiteAccountOptions } from 'netsuite-simulator';

type Request = { id: number; name: 'createIntegration' | 'uploadCertificate' | 'stop'; args: string[] };
type Reply = { id: number; value?: unknown; error?: string };

/** The part of the account that benchmarks use: its URL, its setup pages and `stop`. */
export type ErpProcess = Pick<
  NetsuiteAccount,
  'url' | 'accountId' | 'createIntegration' | 'uploadCertificate' | 'stop'
>;

export async function startErpProcess(options: NetsuiteAccountOptions): Promise<ErpProcess> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: 'inherit' });
  let lastId = 0;
  const pending = new Map<number, (reply: Reply) => void>();
  child.on('message', (reply: Reply) => pending.get(reply.id)?.(reply));
  const call = <T>(name: Request['name'] | 'start', args: unknown[]): Promise<T> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      const id = lastId;
      pending.set(id, (reply) => {
        pending.delete(id);
        if (reply.error === undefined) resolve(reply.value as T);
        else reject(new Error(reply.error));
      });
      child.send({ id, name, args });
    });
  const url = await call<string>('start', [options]);
  return {
    url,
    accountId: options.accountId,
    createIntegration: (name) => call('createIntegration', [name]),
    uploadCertificate: (clientId, pem) => call('uploadCertificate', [clientId, pem]),
    stop: async () => {
      const exited = once(child, 'exit');
      await call('stop', []);
      child.disconnect();
      await exited;
    },
  };
}

function serve(): void {
  let account: NetsuiteAccount | undefined;
  const handle = async (name: string, args: unknown[]): Promise<unknown> => {
    if (name === 'start') {
      // Loaded here alone: its code isn't counted as the service's either.
      const { startNetsuiteAccount } = await import('netsuite-simulator');
      account = await startNetsuiteAccount(args[0] as NetsuiteAccountOptions);
      return account.url;
    }
    if (account === undefined) throw new Error('The account was not started');
    const [first = '', second = ''] = args as string[];
    if (name === 'createIntegration') return account.createIntegration(first);
    if (name === 'uploadCertificate') return account.uploadCertificate(first, second);
    return account.stop();
  };
  process.on('message', ({ id, name, args }: { id: number; name: string; args: unknown[] }) => {
    handle(name, args).then(
      (value) => process.send?.({ id, value }),
      (error: unknown) => process.send?.({ id, error: String(error) }),
    );
  });
}

if (process.argv[2] === 'serve') serve();
