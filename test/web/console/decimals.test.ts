import { expect, it } from 'vitest';
import { addDecimals } from '../../../web/console/src/screens/data/decimals.ts';

it.each([
  [[], '0'],
  [['12.50', '0.005'], '12.505'],
  [['12345678901234567.89', '0.11'], '12345678901234568.00'],
  [['-0.50', '0.25'], '-0.25'],
  [['5', '-5.0'], '0.0'],
  [['-3', '1'], '-2'],
])('the sum of %j is %s, with every digit', (texts, sum) => expect(addDecimals(texts)).toBe(sum));
