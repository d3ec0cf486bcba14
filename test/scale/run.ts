// `npm run test:scale`: tests with several database servers. With --citus the service's own tests run on a
// Citus cluster instead, together with those of test/scale/citus. All other arguments go to vitest.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { noCluster } from './citus/harness/cluster.ts';

const given = process.argv.slice(2);
const isCitus = given.includes('--citus');
if (isCitus && noCluster !== undefined) {
  console.log(`not run: ${noCluster}`);
  const totals = process.env['TEST_TOTALS'];
  if (totals !== undefined) writeFileSync(totals, `0 0\nNOT RUN  the tests on Citus: ${noCluster}\n`);
} else {
  const config = `vitest.${isCitus ? 'citus' : 'scale'}.config.ts`;
  const vitest = path.join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--config', config, ...given.filter((argument) => argument !== '--citus')];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
}
