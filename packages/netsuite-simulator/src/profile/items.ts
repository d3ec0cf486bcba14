// The items of the files get what they lack: prices, costs, accounts, classes and parents. Shipping, taxes
// and other items that aren't in stock are added.
import { allSubsidiaries, insertRows, SEED, SET_UP_AT } from './list-rows.ts';
import { FILE_LINES, type ProfileName } from './profile-name.ts';
import { ACCOUNT } from './trade-sql.ts';

/**
 * Id, itemid, displayname, itemtype, subtype, base price, income account. Negative ids are those of system
 * items, *inferred* from such ids in samples.
 */
const OTHER_ITEMS = [
  [9000001, 'Shipping', 'Standard delivery', 'ShipItem', null, 4.95, 12],
  [9000002, 'VAT 20%', 'Standard rate', 'TaxItem', null, null, null],
  [9000003, 'Zero-rated', 'Zero rate', 'TaxItem', null, null, null],
  [9000004, 'Gift wrapping', 'Gift wrapping', 'Service', 'Sale', 2.5, 11],
  [9000005, 'Catalogue', 'Printed catalogue', 'NonInvtPart', 'Sale', 1, 11],
  [9000006, 'Subtotal', null, 'Subtotal', null, null, null],
  [9000007, 'Discount 5%', 'Discount 5%', 'Discount', null, -5, 11],
  [-2, 'Subtotal', null, 'Subtotal', null, null, null],
  [-3, 'Description', null, 'Description', null, null, null],
  [-7, '-Not Taxable-', null, 'TaxItem', null, null, null],
] as const;

export const itemStatements = (profile: ProfileName): string[] => [
  fillItems(profile),
  insertRows('item', 'id itemid displayname itemtype subtype baseprice incomeaccount', OTHER_ITEMS, {
    isinactive: "'F'",
    subsidiary: `'${allSubsidiaries(profile)}'`,
    createddate: SET_UP_AT,
    lastmodifieddate: SET_UP_AT,
  }),
];

/**
 * The base price is the median of the rates in the files, or 1; the cost is 35 to 64 per cent of it. Of items
 * whose numbers differ in their last letters only, such as 84406A and 84406B, the first is the parent.
 */
const fillItems = (profile: ProfileName): string => `
UPDATE ledger.item i SET baseprice = n.price, averagecost = GREATEST(0.01, round(n.price * (35 + n.choice % 30) / 100, 2)),
  class = 1 + n.choice % 4, department = CASE WHEN i.id % 5 = 0 THEN 3 ELSE 1 END, location = CASE WHEN i.id % 4 = 0 THEN 1 END,
  incomeaccount = ${ACCOUNT.sales}, expenseaccount = ${ACCOUNT.costOfGoods}, assetaccount = CASE i.itemtype WHEN 'InvtPart' THEN ${ACCOUNT.inventory} END,
  salesdescription = i.displayname,
  totalquantityonhand = CASE i.itemtype WHEN 'InvtPart' THEN 0 END,
  upccode = CASE WHEN i.id % 3 <> 0 THEN '50' || lpad(i.id::text, 11, '0') END, parent = NULLIF(n.parent, i.id), subsidiary = '${allSubsidiaries(profile)}'
FROM (SELECT k.id, COALESCE(p.price, 1) AS price, hashtextextended(k.id::text, ${SEED}) & 1023 AS choice,
    first_value(k.id) OVER (PARTITION BY COALESCE(substring(k.itemid FROM '^(\\d{5})[A-Za-z]+$'), k.id::text) ORDER BY k.createddate, k.id) AS parent
  FROM ledger.item k
  LEFT JOIN (SELECT item, percentile_disc(0.5) WITHIN GROUP (ORDER BY rate) AS price FROM ${FILE_LINES} WHERE rate > 0 GROUP BY item) p ON p.item = k.id) n
WHERE n.id = i.id`;
