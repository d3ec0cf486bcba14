// Proposes which fields of a record type to sync, from the ERP's description alone: what identifies a record,
// dates, states, references, amounts, lines and a company's own fields. Left out: what can't be synced, is
// marked as no longer used, or serves machines. Pure.

import type { FieldMetadata } from '../../connectors/connector.ts';

export type DescribedField = Pick<
  FieldMetadata,
  'name' | 'label' | 'type' | 'custom' | 'syncable' | 'target' | 'warning'
>;

export type DescribedType = {
  readonly fields: readonly DescribedField[];
  readonly reading: { readonly curated: boolean } | null;
  readonly shownAs: Readonly<Record<string, string | null>> | null;
};

const toWords = ({ label }: DescribedField): string =>
  label
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim();

const unused =
  /\b(?:deprecated|obsolete|do not use|don t use|not used|no longer used|unused|legacy|old|backup|test|temp|tmp|zz+|x+)\b/;
const internal =
  /\b(?:hash|checksum|guid|uuid|json|xml|html|payload|script|token|debug|etl|sync (?:id|state|status|error|date)|last sync(?:ed)?|integration|nkey|sort (?:key|order)|system note)\b/;

/** A company's own field without a label of its own was made by a machine, or forgotten. */
const isInternal = (field: DescribedField): boolean =>
  internal.test(toWords(field)) || (field.custom && field.label === field.name);

const identity =
  /\b(?:number|no|code|external id|document|reference|ref|po|sku|upc|tranid|item id|entity id|name|title|label|subject)\b/;
const byWords: readonly (readonly [RegExp, string])[] = [
  [identity, 'identifies it'],
  [
    /\b(?:status|state|stage|approval|approved|inactive|active|voided|posting|closed|type|category|priority)\b/,
    'state',
  ],
  [/\b(?:e ?mail|phone|website|url|address)\b/, 'contact'],
  [/\b(?:memo|description|notes?|comments?|message)\b/, 'description'],
];
const amount =
  /\b(?:amount|total|subtotal|balance|price|cost|rate|quantity|qty|paid|unpaid|due|tax|discount|credit|debit|percent|weight|days|value)\b/;
const parties =
  /\b(?:customer|vendor|supplier|entity|employee|contact|item|subsidiary|department|class|location|currency|account|terms|project|job|parent|owner|sales rep\w*|partner|period|created from|billing|shipping)\b/;

/** Why a field of this type is of use; undefined when nothing says so. */
function findUse(field: DescribedField): string | undefined {
  const words = toWords(field);
  const { type, target } = field;
  if (type === 'lines') return 'lines';
  if (type === 'date' || type === 'time') return 'date';
  if (type === 'reference') return target !== undefined || parties.test(words) ? 'reference' : undefined;
  if (type === 'number' || type === 'integer') {
    if (amount.test(words)) return 'amount';
    return type === 'integer' && identity.test(words) ? 'identifies it' : undefined;
  }
  return byWords.find(([pattern]) => pattern.test(words))?.[1];
}

/** A record type with so few fields is proposed as a whole. */
const maxWhole = 20;

/**
 * The proposed fields, each with why, in the order of the description. The id is always part of it. A record
 * type of which no field speaks for itself is proposed with all its fields that are in use.
 */
export function proposeFields({ fields, reading, shownAs }: DescribedType): ReadonlyMap<string, string> {
  const shown = new Set(Object.values(shownAs ?? {}));
  const readable = fields.filter(({ syncable }) => syncable);
  const inUse = readable.filter((field) => !unused.test(toWords(field)) && !isInternal(field));
  const isSmall = readable.length <= maxWhole;
  const findReason = (field: DescribedField): string | undefined => {
    if (field.name === 'id') return 'identifies it';
    if (shown.has(field.name)) return findUse(field) ?? 'identifies it';
    if (!inUse.includes(field)) return undefined;
    const use = findUse(field);
    if (use !== undefined) return use;
    if (field.custom) return field.warning === undefined ? 'your own field' : undefined;
    return reading?.curated === true || isSmall ? 'part of the record' : undefined;
  };
  const chosen = readable.flatMap((field) => {
    const why = findReason(field);
    return why === undefined ? [] : [[field.name, why] as const];
  });
  const isEnough = chosen.some(([name]) => name !== 'id');
  return new Map(isEnough ? chosen : readable.map(({ name }) => [name, 'part of the record']));
}
