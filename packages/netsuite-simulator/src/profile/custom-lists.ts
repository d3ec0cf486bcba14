// The entries of a profile's custom lists: their ids have gaps, two names are the same, and some entries are
// inactive.
import type { Choice } from '../tables/custom-fields.ts';

const entries = (...names: string[]): Choice[] =>
  names.flatMap((name, i) => (name === '' ? [] : [{ id: String(i + 1), name }]));

export const LIST_ENTRIES = {
  customlist_sales_channel: entries('Web shop', 'Phone', 'Trade fair', '', 'Shop', 'Marketplace (eBay)'),
  customlist_colour: entries('Red', 'Ivory', 'Pink, pale', '', '', 'Blue', 'Green', 'Red'),
  customlist_material: entries('Wood', 'Metal', 'Glass & ceramic', 'Paper', 'Fabric'),
  customlist_complaint_reason: entries('Damaged', 'Late', 'Wrong item', 'Incomplete', 'Changed mind'),
  customlist_warranty_status: entries('Registered', 'Claimed', '', 'Refused', 'Expired'),
} as const satisfies Readonly<Record<string, readonly Choice[]>>;

/** Entries that can't be chosen any more, by list. */
export const INACTIVE_ENTRIES: Readonly<Record<string, readonly string[]>> = {
  customlist_colour: ['8'],
  customlist_warranty_status: ['5'],
};
