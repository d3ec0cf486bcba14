import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/core/log.ts';
import { pauseMs } from '../../src/processes/children.ts';
import { chooseProcesses, waitForConnections } from '../../src/processes/count.ts';
import { countConnections, divideConfig } from '../../src/processes/divide.ts';

const megabyte = 1024 * 1024;

describe('divideConfig', () => {
  it('leaves a process of its own what it has', () => {
    const config = readConfig({});
    expect(divideConfig(config, 1)).toEqual(config);
  });

  it('divides pools, caches and limits, and nothing else', () => {
    const config = readConfig({ BODY_CACHE_MB: '64', EXPORT_QUEUE: '5' });
    const { settings, ...divided } = divideConfig(config, 2);
    expect(divided).toMatchObject({
      CONTROL_POOL_SIZE: 4,
      LOOKUP_POOL_SIZE: 1,
      DATA_POOL_SIZE: 5,
      EXPORT_POOL: 2,
      HTTP_CONNECTIONS: 5_000,
    });
    const { publicLoad, exports, changeStreams, cacheBytes, ...others } = settings;
    expect(publicLoad).toMatchObject({ maxRequests: 500, maxLargeReads: 4 });
    expect(exports).toMatchObject({ maxRunning: 2, maxWaiting: 3 });
    expect(changeStreams).toEqual({ ...config.settings.changeStreams, maxPollsPerSecond: 50 });
    expect(cacheBytes).toEqual({
      bodies: 32 * megabyte,
      totals: 4 * megabyte,
      anchors: 8 * megabyte,
      statements: 8 * megabyte,
      lookups: 4 * megabyte,
      tokens: 12 * megabyte,
      versions: 8 * megabyte,
    });
    expect(config.settings).toMatchObject(others);
  });

  it('leaves each process what it needs to work, and what is switched off is off', () => {
    const { settings, ...divided } = divideConfig(readConfig({ BODY_CACHE_MB: '0', EXPORT_QUEUE: '0' }), 64);
    expect(divided).toMatchObject({
      CONTROL_POOL_SIZE: 2,
      LOOKUP_POOL_SIZE: 1,
      DATA_POOL_SIZE: 2,
      EXPORT_POOL: 1,
    });
    expect([settings.cacheBytes.bodies, settings.exports.maxWaiting]).toEqual([0, 0]);
    expect(settings.cacheBytes.totals).toBe(megabyte / 8);
  });
});

describe('chooseProcesses', () => {
  const choose = (given: string, free: number, cores: number): number =>
    chooseProcesses(readConfig({ PROCESSES: given }), free, cores, true);

  it('auto is the number of cores, as far as there are connections, and at least 1', () => {
    const auto = readConfig({ PROCESSES: 'auto' });
    expect([1, 2, 4].map((cores) => choose('auto', 97, cores))).toEqual([1, 2, 4]);
    const ofTwo = countConnections(auto, 2, true);
    expect([choose('auto', ofTwo, 2), choose('auto', ofTwo - 1, 2)]).toEqual([2, 1]);
    expect([choose('auto', 97, 64), choose('auto', 10, 8), choose('auto', 0, 8)]).toEqual([7, 1, 1]);
  });

  it('a number is taken as it is, or refused with what is missing', () => {
    expect([choose('1', 0, 8), choose('3', 97, 1)]).toEqual([1, 3]);
    expect(() => choose('8', 97, 8)).toThrow(
      /^PROCESSES=8 needs \d+ connections to PostgreSQL, .*; 97 of its max_connections are free\. Raise max_connections, or lower PROCESSES/,
    );
  });
});

it('a number waits for connections that are still in use, unless there will never be enough', async () => {
  const log = createLog('silent');
  const choose = (PROCESSES: string, free: number[]) =>
    waitForConnections(
      readConfig({ PROCESSES }),
      async () => ({ all: 97, free: free.shift() ?? 0 }),
      4,
      true,
      log,
    );
  expect(await Promise.all([choose('3', [50, 97]), choose('auto', [50, 97])])).toEqual([3, 4]);
  const once = [50, 97];
  await expect(choose('64', once)).rejects.toThrow(/50 of its max_connections are free/);
  expect(once).toEqual([97]);
});

it('a process that ends again and again after its start is replaced after growing pauses', () => {
  expect([0, 1, 2, 3, 4, 6, 7, 100].map(pauseMs)).toEqual([
    0, 0, 1_000, 2_000, 4_000, 16_000, 30_000, 30_000,
  ]);
});
