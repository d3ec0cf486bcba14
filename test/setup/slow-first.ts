// The order of the test files: the slowest start first, so that no worker is idle at the end. In a fresh
// clone vitest knows no durations and would sort by file size, although these files are small.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const slow = [
  'test/profiles/record-types.test.ts',
  'test/ops/chaos.test.ts',
  'test/ops/days.test.ts',
  'test/ops/demo.test.ts',
  'test/ops/documents.test.ts',
  'test/access/switched-off.test.ts',
  'test/access/oracle.test.ts',
  'test/green/recreated-fields.test.ts',
  'test/contract/inputs.test.ts',
  'test/contract/roles.test.ts',
  'test/contract/every-route.test.ts',
  'test/sync/bad-input.test.ts',
  'test/contract/openapi.test.ts',
  'test/story/sync-to-public.test.ts',
  'test/public/export/cuts.test.ts',
  'test/http/event-stream.test.ts',
  'test/platform/api-schemas/publication.test.ts',
  'test/sync/account.test.ts',
  'test/sync/adversity.test.ts',
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
