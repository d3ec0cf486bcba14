// The check of licences: what is on the list passes, and everything else is named.
import { describe, expect, it } from 'vitest';
import { findForbidden, isAllowed } from '../../scripts/check-licences.ts';

const allowed = ['MIT', 'ISC'];

describe('an SPDX expression is allowed', () => {
  it.each([
    ['MIT', true],
    ['GPL-3.0', false],
    ['MIT OR GPL-3.0', true],
    ['MIT AND GPL-3.0', false],
    ['(MIT OR GPL-3.0) AND ISC', true],
    ['(MIT AND GPL-3.0) OR (ISC AND AGPL-3.0)', false],
    ['GPL-3.0 OR MIT AND ISC', true],
    ['UNLICENSED', false],
    ['', false],
  ])('%s: %s', (expression, expected) => {
    expect(isAllowed(expression, allowed)).toBe(expected);
  });
});

it('names components without a licence or with one that is not on the list', () => {
  const components = [
    { name: 'good', version: '1.0.0', licenses: [{ license: { id: 'MIT' } }] },
    { name: 'either', version: '1.0.0', licenses: [{ expression: '(GPL-2.0 OR ISC)' }] },
    { name: 'bad', version: '2.1.0', licenses: [{ license: { id: 'AGPL-3.0' } }] },
    { name: 'named', version: '1.0.0', licenses: [{ license: { name: 'Custom' } }] },
    { name: 'none', version: '3.0.0' },
    { name: 'ours', version: '0.1.0' },
  ];
  expect(findForbidden({ components }, allowed, ['ours'])).toEqual([
    'bad 2.1.0: AGPL-3.0',
    'named 1.0.0: Custom',
    'none 3.0.0: no licence',
  ]);
});
