// A service, and a plain HTTP client that is signed in.
import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  type Credentials,
  type ODataSimulator,
  type ODataSimulatorOptions,
  startODataSimulator,
} from '../src/index.ts';

/** Whatever an answer has; a test checks what it needs. */
export type Json = ReturnType<typeof JSON.parse>;
export type Answer = { status: number; headers: Headers; text: string; body: Json };
type Client = {
  simulator: ODataSimulator;
  authorization: Record<string, string>;
  /** A path below the entity sets, or an absolute address. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** The entities of all pages, and the last page. Rejects with an Error for another status than 200. */
  all(path: string, headers?: Record<string, string>): Promise<{ values: Json[]; pages: number; last: Json }>;
};

export const requestToken = (
  credentials: Extract<Credentials, { kind: 'oauth2' }>,
  more: Record<string, string> = {},
): Promise<Response> =>
  fetch(credentials.tokenUrl, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: credentials.clientId,
      client_secret: credentials.clientSecret,
      scope: credentials.scope,
      ...more,
    }),
  });

async function signIn(credentials: Credentials): Promise<Record<string, string>> {
  if (credentials.kind === 'header') return { [credentials.name]: credentials.value };
  if (credentials.kind === 'basic') {
    const text = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
    return { authorization: `Basic ${text}` };
  }
  const { access_token: token } = (await (await requestToken(credentials)).json()) as {
    access_token: string;
  };
  return { authorization: `Bearer ${token}` };
}

const parse = (text: string): Json => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export async function startClient(options: ODataSimulatorOptions): Promise<Client> {
  const simulator = await startODataSimulator(options);
  const authorization = await signIn(simulator.credentials);
  const base = `${simulator.serviceRoot}${simulator.companyPath}`;
  const get: Client['get'] = async (path, headers = {}) => {
    const url = /^http:/.test(path) ? path : `${base}${path}`;
    const response = await fetch(url, { headers: { ...authorization, ...headers }, redirect: 'manual' });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };
  return {
    simulator,
    authorization,
    get,
    async all(path, headers) {
      const values: Json[] = [];
      let url = new URL(/^http:/.test(path) ? path : `${base}${path}`).href;
      for (let pages = 1; ; pages += 1) {
        const { status, body, text } = await get(url, headers);
        if (status !== 200 || body === undefined) throw new Error(`${status} ${text}`);
        values.push(...body.value);
        const next = body['@odata.nextLink'] ?? body['@nextLink'];
        if (next === undefined) return { values, pages, last: body };
        url = new URL(next, url).href;
      }
    },
  };
}

/** A service for the tests of a file, without faults at the beginning of each test. */
export function useClient(options: ODataSimulatorOptions): Client {
  const client = {} as Client;
  beforeAll(async () => {
    Object.assign(client, await startClient(options));
  });
  afterEach(() => client.simulator.reset());
  afterAll(() => client.simulator.stop());
  return client;
}
