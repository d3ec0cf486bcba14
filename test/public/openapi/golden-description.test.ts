// The description of a published version is stored for good, but a version that declares nothing new must
// also be described as before when it is published today: generated clients are compared by their text. The
// file was made before there were summaries, relations and search; do not regenerate it. Since then only the
// filters of numbers and ids changed, which also take the texts that fields answer, and a sentence says how
// texts are sorted and searched. Its bindings lack what is new for all versions: the parameter `format`.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeGolden } from './golden-document.ts';

it('describes a version without new declarations byte for byte as before', () => {
  expect(describeGolden()).toBe(readFileSync(new URL('../golden/description.txt', import.meta.url), 'utf8'));
});
