// The order of the test files: those that take longest begin, so that at the end no worker waits for another. A fresh clone remembers
// no durations, and vitest would go by the files' sizes, of which these are among the least.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const slow = [
  'test/contract/inputs.test.ts',
  'test/sync/replay.test.ts',
  'test/contract/roles.test.ts',
  'test/contract/every-route.test.ts',
  'test/contract/openapi.test.ts',
  'test/sync/bad-input.test.ts',
  'test/sync/slots.test.ts',
  'test/demo/netsuite/replay.test.ts',
];
const rank = ({ moduleId }: TestSpecification): number => {
  const place = slow.findIndex((file) => moduleId.endsWith(`/${file}`));
  return place < 0 ? slow.length : place;
};

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
