// A move between two plain databases: the same code moves to a Citus cluster
// (test/scale/citus/move-to-citus.test.ts).
import { describeMove } from './move-story.ts';
import { opsDatabase } from './server-process.ts';

describeMove('a move between two databases', async () => {
  const [former, target] = [await opsDatabase(), await opsDatabase(null)];
  return {
    former,
    target,
    isPlaced: async () => true,
    close: async () => {
      await former.close();
      await target.close();
    },
  };
});
