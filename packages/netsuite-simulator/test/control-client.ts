// An account with a control interface, a signed-in caller on the wire, and a plain HTTP client for the
// control interface.
import http from 'node:http';
import type { NetsuiteAccountOptions } from '../src/account.ts';
import { type Caller, startShop, useStarted } from './test-account.ts';

const T = '2011-07-01 10:00:00';

/** Invoices 101 to 107 of customers 1 and 2, each with three lines of one pound. */
export const BOOKS = {
  transaction: Array.from(
    { length: 7 },
    (_, i) => `${101 + i},I${101 + i},CustInvc,2011-07-0${i + 1},${(i % 2) + 1},1,1,T,3.00,${T},${T}`,
  ),
  transactionline: Array.from({ length: 21 }, (_, i) => {
    const [transaction, line] = [101 + Math.floor(i / 3), (i % 3) + 1];
    return `${1001 + i},${line},${transaction},${line},10,line ${line},-1,1.00,-1.00,F,F,${T}`;
  }),
};

/** Whatever an answer has; a test checks what it needs. */
export type Json = ReturnType<typeof JSON.parse>;
export type ControlAnswer = { status: number; headers: Headers; body: Json };
type ControlClient = {
  url: string;
  token: string;
  /** A request with the token. */
  control(method: string, path: string, body?: unknown): Promise<ControlAnswer>;
  /** The body of a successful request. Rejects with an Error for any other status. */
  done(method: string, path: string, body?: unknown): Promise<Json>;
  /** Changes raw values of a record, and none of its times. */
  edit(tableAndId: string, fields: object): Promise<Json>;
  /** The status and the paths of the details with which a request is refused. */
  refuse(method: string, path: string, body?: unknown): Promise<[status: number, ...paths: string[]]>;
};
export type Controlled = Caller &
  ControlClient & {
    folder: string;
    /** The ids on each page of the transactions, read by key as a connector does. */
    pages(limit: number): Promise<string[][]>;
  };

/** The account must have a control interface. */
export function createControlClient({ account }: Pick<Caller, 'account'>): ControlClient {
  const { url, token } = account.control ?? { url: '', token: '' };
  const control = async (method: string, path: string, body?: unknown): Promise<ControlAnswer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
  };
  const done: ControlClient['done'] = async (method, path, body) => {
    const answer = await control(method, path, body);
    if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    url,
    token,
    control,
    done,
    edit: (tableAndId, fields) => done('PATCH', `/records/${tableAndId}`, { fields, touch: 'none' }),
    async refuse(method, path, body) {
      const answer = await control(method, path, body);
      return [answer.status, ...answer.body.error.details.map((detail: Json) => detail.path)];
    },
  };
}

export async function startControlled(options: Partial<NetsuiteAccountOptions> = {}): Promise<Controlled> {
  const shop = await startShop({ control: {}, ...options }, BOOKS);
  return {
    ...shop,
    ...createControlClient(shop),
    async pages(limit) {
      const pages: string[][] = [];
      for (let last = '0', isMore = true; isMore && pages.length < 20; ) {
        const { status, body } = await shop.query(
          `SELECT id, foreigntotal FROM transaction WHERE id > ${last} ORDER BY id`,
          { limit },
        );
        if (status !== 200) throw new Error(String(status));
        pages.push(body.items.map(({ id = '' }) => id));
        last = pages.at(-1)?.at(-1) ?? last;
        isMore = body.hasMore;
      }
      return pages;
    },
  };
}

export const useControlled = (...given: Parameters<typeof startControlled>) =>
  useStarted(() => startControlled(...given));

/** A request with any headers, Host included, which fetch doesn't allow. */
export function rawRequest(
  url: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}
