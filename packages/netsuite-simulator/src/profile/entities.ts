// The customers of the files get what they lack: a subsidiary, a currency, addresses, a sales representative
// and so on. Vendors, employees, contacts and partners are generated. All choices follow from the ids.
import { quoteSqlText } from '../tables/table.ts';
import { insertRows, SET_UP_AT } from './list-rows.ts';
import type { ProfileName } from './profile-name.ts';
import { ACCOUNT } from './trade-sql.ts';

/** Code, name, the files' name, edition, euro, city, postal code. */
const COUNTRIES = [
  ['GB', 'United Kingdom', 'United Kingdom', 'UK', 'F', 'London', 'N1 9GU'],
  ['IE', 'Ireland', 'EIRE', 'X', 'T', 'Dublin', 'D02 X285'],
  ['DE', 'Germany', 'Germany', 'X', 'T', 'Köln', '50667'],
  ['FR', 'France', 'France', 'X', 'T', 'Orléans', '45000'],
  ['BE', 'Belgium', 'Belgium', 'X', 'T', 'Gent', '9000'],
  ['ES', 'Spain', 'Spain', 'X', 'T', 'A Coruña', '15001'],
  ['IT', 'Italy', 'Italy', 'X', 'T', 'Torino', '10121'],
  ['AT', 'Austria', 'Austria', 'X', 'T', 'Graz', '8010'],
  ['PT', 'Portugal', 'Portugal', 'X', 'T', 'Évora', '7000'],
  ['MT', 'Malta', 'Malta', 'X', 'T', 'Valletta', 'VLT 1117'],
  ['FI', 'Finland', 'Finland', 'X', 'T', 'Jyväskylä', '40100'],
  ['NL', 'Netherlands', 'Netherlands', 'X', 'T', 'Utrecht', '3511'],
  ['CY', 'Cyprus', 'Cyprus', 'X', 'T', 'Larnaca', '6010'],
  ['GR', 'Greece', 'Greece', 'X', 'T', 'Volos', '382 21'],
  ['CH', 'Switzerland', 'Switzerland', 'X', 'F', 'Zürich', '8001'],
  ['SE', 'Sweden', 'Sweden', 'X', 'F', 'Malmö', '211 20'],
  ['NO', 'Norway', 'Norway', 'X', 'F', 'Tromsø', '9008'],
  ['DK', 'Denmark', 'Denmark', 'X', 'F', 'Århus', '8000'],
  ['PL', 'Poland', 'Poland', 'X', 'F', 'Łódź', '90-001'],
  ['IS', 'Iceland', 'Iceland', 'X', 'F', 'Reykjavík', '101'],
  ['JE', 'Jersey', 'Channel Islands', 'UK', 'F', 'St Helier', 'JE2 3NN'],
  ['US', 'United States', 'USA', 'US', 'F', 'Trenton', '08608'],
  ['CA', 'Canada', 'Canada', 'CA', 'F', 'Montréal', 'H2Y 1C6'],
  ['JP', 'Japan', 'Japan', 'JP', 'F', 'Nagoya', '460-0008'],
  ['AU', 'Australia', 'Australia', 'AU', 'F', 'Perth', '6000'],
  ['IL', 'Israel', 'Israel', 'X', 'F', 'Haifa', '3303142'],
] as const;

const FIRST_NAMES = "Amélie Ben Chloë Dermot Elspeth Farah Gwen Hugo Ines Jarek Keiko Liam O'Neil Zoë".split(
  ' ',
);
const LAST_NAMES =
  "Ashby Brontë Cole D'Arcy Ellis Fox García Hale Iqbal Jones Kerr Lund Müller Nowak Smith-Reed".split(' ');
const COMPANY_NAMES =
  'Amber Birch Cobalt Dove Elm Fern Gable Hazel Ivy Juniper Kestrel Larch Maple Nest'.split(' ');
const COMPANY_KINDS = [
  'Gifts',
  '& Sons',
  'Home',
  'Interiors',
  'Trading',
  'Stores',
  'Supplies',
  'House',
  'Emporium',
  'Market',
  'Crafts',
];
const STREETS = [
  'High Street',
  'Station Road',
  'Mill Lane',
  'Church Walk',
  'Market Square',
  'The Green',
  'Rue du Port',
  'Hafenstraße',
  'King’s Row',
];

/** SQL of a name from a list, by a whole number. */
const pick = (names: readonly string[], by: string): string =>
  `(ARRAY[${names.map(quoteSqlText).join(', ')}])[1 + abs(${by}) % ${names.length}]`;
/** Below the keys of the customer's addresses; those of subsidiaries and locations are 1 to 20. */
const BOOK_KEY = '(c.id * 10 + CASE WHEN c.id > 0 THEN 20 ELSE 0 END)';
const companyName = (id: string): string =>
  `${pick(COMPANY_NAMES, id)} || ' ' || ${pick(COMPANY_KINDS, `${id} / ${COMPANY_NAMES.length}`)}`;

export const entityStatements = (profile: ProfileName): string[] => [
  'CREATE TEMPORARY TABLE place (LIKE ledger.country) ON COMMIT DROP',
  'ALTER TABLE place ADD filename text, ADD iseuro text, ADD city text, ADD zip text',
  insertRows('place', 'id name filename edition iseuro city zip', COUNTRIES).replace('ledger.place', 'place'),
  'INSERT INTO ledger.country (id, name, edition, uniquekey) SELECT id, name, edition, row_number() OVER (ORDER BY id) FROM place',
  fillCustomers(profile),
  ...(profile === 'oneworld' ? [FURTHER_SUBSIDIARIES] : []),
  insertEmployees(profile),
  insertVendors(profile),
  CONTACTS,
  `INSERT INTO ledger.partner (id, entityid, companyname, email, datecreated, lastmodifieddate)
   SELECT 9300000 + n, 'Partner ' || n, ${companyName('(n * 37)')}, 'partner' || n || '@partner.example', ${SET_UP_AT}, ${SET_UP_AT} FROM generate_series(1, 3) n`,
  ...ADDRESSES,
];

/**
 * A tenth of the foreign customers (by id) trade in pounds; a customer in 25 belongs to the first customer of
 * its country.
 */
const fillCustomers = (profile: ProfileName): string => `
UPDATE ledger.customer c SET subsidiary = n.subsidiary,
  currency = CASE WHEN n.subsidiary = 1 OR abs(c.id) % 10 = 0 THEN 1 WHEN n.subsidiary = 2 THEN 3 ELSE 2 END,
  category = 1 + abs(c.id) % 3, terms = 1, pricelevel = CASE WHEN abs(c.id) % 7 = 0 THEN 2 ELSE 1 END, salesrep = 9100002 + abs(c.id) % 6,
  parent = CASE WHEN abs(c.id) % 25 = 0 THEN NULLIF(n.first, c.id) END, receivablesaccount = ${ACCOUNT.receivable}, entitystatus = 13,
  creditlimit = CASE WHEN abs(c.id) % 6 = 0 THEN 5000 + abs(c.id) % 5 * 2500 END,
  companyname = ${companyName('c.id')}, phone = CASE WHEN abs(c.id) % 4 <> 0 THEN '+44 20 7946 ' || lpad((abs(c.id) % 10000)::text, 4, '0') END,
  email = CASE WHEN abs(c.id) % 11 = 0 THEN 'ORDERS' || c.id || '@CUSTOMER.EXAMPLE' WHEN abs(c.id) % 5 <> 0 THEN 'orders' || c.id || '@customer.example' END,
  defaultbillingaddress = ${BOOK_KEY} + 1, defaultshippingaddress = ${BOOK_KEY} + CASE WHEN abs(c.id) % 4 = 0 THEN 2 ELSE 1 END
FROM (SELECT k.id, first_value(k.id) OVER (PARTITION BY k.defaultcountry ORDER BY k.datecreated, k.id) AS first,
    ${profile === 'oneworld' ? "CASE WHEN p.id = 'GB' THEN 1 WHEN p.iseuro = 'T' THEN 2 ELSE 3 END" : '1'} AS subsidiary
  FROM ledger.customer k LEFT JOIN place p ON k.defaultcountry IN (p.filename, p.name, p.id)) n
WHERE n.id = c.id`;

/** A foreign customer in five also buys from the first subsidiary. */
const FURTHER_SUBSIDIARIES = `
INSERT INTO ledger.customersubsidiary (id, entity, subsidiary)
SELECT 100000000 + c.id * 10 + 1, c.id, 1 FROM ledger.customer c WHERE c.subsidiary <> 1 AND abs(c.id) % 5 = 0`;

const insertEmployees = (profile: ProfileName): string => `
INSERT INTO ledger.employee (id, entityid, isperson, firstname, lastname, email, phone, title, supervisor, department, location, subsidiary,
  isinactive, datecreated, lastmodifieddate)
SELECT CASE n WHEN 0 THEN -5 ELSE 9100000 + n END, CASE n WHEN 0 THEN '-System-' ELSE e.first || ' ' || e.last END, 'T', e.first, e.last,
  CASE WHEN n > 0 THEN 'employee' || n || '@portal-gifts.example' END, CASE WHEN n % 3 = 1 THEN '+44 20 7946 ' || 9000 + n END,
  CASE WHEN n = 1 THEN 'Managing Director' WHEN n BETWEEN 2 AND 7 THEN 'Sales Representative' END,
  CASE WHEN n BETWEEN 2 AND 7 THEN 9100001 WHEN n > 7 THEN 9100002 END, CASE WHEN n BETWEEN 2 AND 7 THEN 1 ELSE 1 + n % 4 END,
  CASE WHEN n > 7 THEN e.subsidiary END, e.subsidiary, CASE n WHEN 20 THEN 'T' ELSE 'F' END, ${SET_UP_AT}, ${SET_UP_AT}
FROM generate_series(0, 20) n, LATERAL (SELECT CASE WHEN n > 0 THEN ${pick(FIRST_NAMES, 'n')} END AS first, CASE WHEN n > 0 THEN ${pick(LAST_NAMES, 'n * 4')} END AS last,
  ${profile === 'oneworld' ? '1 + n % 3' : '1'} AS subsidiary) e`;

/**
 * Ten suppliers and two carriers for each subsidiary, in its currency (three of the first subsidiary's in
 * dollars), and the tax agency.
 */
const insertVendors = (profile: ProfileName): string => `
INSERT INTO ledger.vendor (id, entityid, companyname, email, phone, subsidiary, category, terms, currency, payablesaccount, datecreated, lastmodifieddate)
SELECT 9000000 + s.id * 100 + n, 'VEND' || s.id * 100 + n, ${companyName('(s.id * 100 + n)')}, 'sales' || s.id * 100 + n || '@vendor.example',
  CASE WHEN n % 2 = 0 THEN '+44 161 496 0' || s.id * 100 + n END, s.id, CASE WHEN n > 10 THEN 2 ELSE 1 END, 1 + n % 3,
  ${profile === 'oneworld' ? 'CASE WHEN s.id = 1 AND n <= 3 THEN 2 ELSE s.currency END' : 's.currency'}, ${ACCOUNT.payable},
  ${SET_UP_AT}, ${SET_UP_AT}
FROM ledger.subsidiary s, generate_series(1, 12) n WHERE s.id <= ${profile === 'oneworld' ? 3 : 1}
UNION ALL SELECT -3, 'HMRC', 'HM Revenue & Customs', NULL, NULL, 1, 3, 1, 1, ${ACCOUNT.payable}, ${SET_UP_AT}, ${SET_UP_AT}`;

/** One for a customer in three. */
const CONTACTS = `
INSERT INTO ledger.contact (id, entityid, isperson, firstname, lastname, email, phone, title, company, subsidiary, datecreated, lastmodifieddate)
SELECT 9200000 + row_number() OVER (ORDER BY c.id), n.first || ' ' || n.last, 'T', n.first, n.last, 'contact' || c.id || '@customer.example',
  CASE WHEN abs(c.id) % 2 = 0 THEN c.phone END, CASE WHEN abs(c.id) % 6 = 0 THEN 'Buyer' END, c.id, c.subsidiary, c.datecreated, c.datecreated
FROM ledger.customer c, LATERAL (SELECT ${pick(FIRST_NAMES, 'c.id / 3')} AS first, ${pick(LAST_NAMES, 'c.id / 7')} AS last) n WHERE abs(c.id) % 3 = 0`;

const ADDRESS_COLUMNS =
  'nkey, entity, label, addressee, attention, addrphone, addr1, addr2, city, state, zip, country, lastmodifieddate';
const STREET = (id: string): string => `1 + abs(${id}) % 180 || ' ' || ${pick(STREETS, id)}`;

/**
 * A customer in four has a second address, for shipping. Subsidiaries have the keys 1 to 3, locations 11 to
 * 13.
 */
const ADDRESSES = [
  `INSERT INTO ledger.address (${ADDRESS_COLUMNS})
   SELECT ${BOOK_KEY} + n, c.id, CASE n WHEN 1 THEN 'Main' ELSE 'Warehouse' END, c.companyname, CASE WHEN abs(c.id) % 3 = 0 AND n = 1 THEN 'Accounts Department' END,
     c.phone, ${STREET('(c.id + n)')}, CASE WHEN abs(c.id) % 9 = 0 THEN 'Unit ' || abs(c.id) % 40 END, p.city, CASE p.id WHEN 'US' THEN 'NJ' WHEN 'CA' THEN 'QC' END,
     p.zip, p.id, c.datecreated
   FROM ledger.customer c LEFT JOIN place p ON c.defaultcountry IN (p.filename, p.name, p.id), generate_series(1, 2) n WHERE n = 1 OR abs(c.id) % 4 = 0`,
  `INSERT INTO ledger.address (${ADDRESS_COLUMNS})
   SELECT v.id * 10 + 1, v.id, 'Main', v.companyname, NULL, v.phone, ${STREET('v.id')}, NULL, p.city, NULL, p.zip, p.id, v.datecreated
   FROM ledger.vendor v JOIN ledger.subsidiary s ON s.id = v.subsidiary JOIN place p ON p.id = s.country WHERE v.id > 0`,
  `INSERT INTO ledger.address (${ADDRESS_COLUMNS})
   SELECT s.id + n, NULL, NULL, s.legalname, NULL, NULL, ${STREET('(s.id + n)')}, NULL, p.city, CASE p.id WHEN 'US' THEN 'NJ' END, p.zip, p.id, s.lastmodifieddate
   FROM ledger.subsidiary s JOIN place p ON p.id = s.country, (VALUES (0), (10)) k(n) WHERE s.mainaddress IS NOT NULL`,
];
