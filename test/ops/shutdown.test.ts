// How a server process ends: on a signal, with what it was doing brought to an end or handed over.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpsDatabase, opsDatabase, startServer } from './server-process.ts';

let database: OpsDatabase;
beforeAll(async () => {
  database = await opsDatabase();
});
afterAll(() => database.close());

describe('SIGTERM', () => {
  it('ends an idle server with exit code 0 and nothing on standard error', async () => {
    const server = await startServer(database);
    expect((await fetch(`${server.url}/api/platform/v1/openapi`)).status).toBe(200);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(server.output().stderr).toBe('');
  });
});
