// What the oracle of the failovers makes of an answer that breaks off.
import type { ServerResponse } from 'node:http';
import express from 'express';
import { expect, it } from 'vitest';
import { createOracle } from './harness/answer-oracle.ts';

/** Breaks every response off after its first bytes. */
const app = express().use((_req: unknown, res: ServerResponse) => {
  res.writeHead(200, { etag: '"a"', 'content-type': 'text/csv' });
  res.write('id,name\n', () => res.destroy());
});
const oracle = createOracle({ secret: 'x', organizationId: 'x' });

it.each(['/v1/things#csv', '/v1/things#lines'])(
  'an export that breaks off is no answer, and its tag names nothing: %s',
  async (address) => {
    expect(await oracle.read(app, address)).toMatchObject({ status: 0, tag: '', text: '' });
    expect(oracle.tags).toBe(0);
  },
);

it('any other answer that breaks off is a failure', async () => {
  await expect(oracle.read(app, '/v1/things')).rejects.toThrow('aborted');
});
