// The lists of a profile, and what they change in customers and items.
import { bookStatements } from './book-lists.ts';
import { entityStatements } from './entities.ts';
import { itemStatements } from './items.ts';
import { allSubsidiaries, fillFullName, insertList, insertRows, SET_UP_AT } from './list-rows.ts';
import type { ProfileName } from './profile-name.ts';

/**
 * Subsidiaries and locations of the profile `oneworld`; `single` has the first subsidiary and its locations.
 */
const SUBSIDIARIES = [
  [
    1,
    'Portal Gifts Ltd',
    null,
    1,
    'GB',
    'F',
    'Portal Gifts Limited',
    'accounts@portal-gifts.example',
    1,
    'UK',
    'GB123456789',
    'UK',
  ],
  [
    2,
    'Portal Gifts Ireland',
    1,
    3,
    'IE',
    'F',
    'Portal Gifts Ireland DAC',
    'accounts@portal-gifts.example',
    2,
    'X',
    'IE1234567A',
    'IE',
  ],
  [
    3,
    'Portal Gifts USA',
    1,
    2,
    'US',
    'F',
    'Portal Gifts Inc.',
    'accounts@portal-gifts.example',
    3,
    'US',
    '12-3456789',
    'US',
  ],
  [4, 'Portal Gifts Elimination', 1, 1, 'GB', 'T', null, null, null, 'UK', null, 'EL'],
] as const;
const LOCATIONS = [
  [1, 'London warehouse', null, '1', 11, 'Warehouse', 51.5, -0.1],
  [2, 'Dublin', null, '2', 12, 'Warehouse', 53.3, -6.3],
  [3, 'New Jersey', null, '3', 13, 'Warehouse', 40.7, -74.1],
  [4, 'London returns', 1, '1', 11, 'Warehouse', 51.5, -0.1],
] as const;

export const listStatements = (profile: ProfileName): string[] => [
  ...companyStatements(profile),
  ...TRADING_LISTS,
  ...bookStatements(profile),
  ...entityStatements(profile),
  ...itemStatements(profile),
];

function companyStatements(profile: ProfileName): string[] {
  const everywhere = `'${allSubsidiaries(profile)}'`;
  const listed = { subsidiary: everywhere, lastmodifieddate: SET_UP_AT };
  const isOneWorld = profile === 'oneworld';
  return [
    insertRows(
      'subsidiary',
      'id name parent currency country iselimination legalname email mainaddress edition federalidnumber tranprefix',
      SUBSIDIARIES.filter(([id]) => isOneWorld || id === 1),
      { isinactive: "'F'", fiscalcalendar: '1', lastmodifieddate: SET_UP_AT },
    ),
    insertRows(
      'department',
      'id name parent',
      [
        [1, 'Sales'],
        [2, 'Warehouse'],
        [3, 'Online', 1],
        [4, 'Administration'],
      ],
      listed,
    ),
    insertRows(
      'classification',
      'id name parent',
      [
        [1, 'Gifts'],
        [2, 'Home'],
        [3, 'Seasonal', 1],
        [4, 'Trade'],
      ],
      listed,
    ),
    insertList(
      'location',
      'id name parent subsidiary mainaddress locationtype latitude longitude',
      LOCATIONS.filter((row) => isOneWorld || row[3] === '1'),
    ),
    ...['department', 'classification', 'location'].map(fillFullName),
    "UPDATE ledger.location SET makeinventoryavailable = 'T', includeinsupplyplanning = 'T', returnaddress = mainaddress",
  ];
}

const TRADING_LISTS: readonly string[] = [
  insertList('term', 'id name daysuntilnetdue preferred', [
    [1, 'Net 30', 30, 'T'],
    [2, 'Due on receipt', 0, 'F'],
    [3, 'Net 60', 60, 'F'],
  ]),
  insertList('customercategory', 'id name', [
    [1, 'Retail'],
    [2, 'Wholesale'],
    [3, 'Online'],
  ]),
  insertList('vendorcategory', 'id name istaxagency', [
    [1, 'Supplier', 'F'],
    [2, 'Freight', 'F'],
    [3, 'Tax agency', 'T'],
  ]),
  insertList('pricelevel', 'id name discountpct isonline', [
    [1, 'Base Price', null, 'F'],
    [2, 'Wholesale', -15, 'F'],
    [3, 'Alternate Price 2', null, 'F'],
    [4, 'Staff', -30, 'F'],
    [5, 'Online Price', 0, 'T'],
  ]),
  insertList('paymentmethod', 'id name methodtype creditcard undepfunds account', [
    [1, 'Cash', 'CASH', 'F', 'T', null],
    [2, 'Cheque', 'CHECK', 'F', 'T', null],
    [4, 'Mastercard', 'PAYMENT_CARD', 'T', 'T', null],
    [5, 'Visa', 'PAYMENT_CARD', 'T', 'T', null],
    [7, 'Bank transfer', 'OTHER', 'F', 'F', 2],
  ]),
  insertList('unitstype', 'id name', [[1, 'Count']]),
  insertRows(
    'unitstypeuom',
    'internalid unitstype unitname pluralname abbreviation pluralabbreviation conversionrate baseunit inuse',
    [
      [1, 1, 'Each', 'Each', 'ea', 'ea', 1, 'T', 'T'],
      [2, 1, 'Dozen', 'Dozens', 'dz', 'dz', 12, 'F', 'F'],
    ],
  ),
  insertRows('nexus', 'id description country', [
    [1, 'United Kingdom', 'GB'],
    [2, 'Ireland', 'IE'],
    [3, 'New Jersey', 'US'],
  ]),
  insertList('taxtype', 'id name description country payablesaccount receivablesaccount', [
    [1, 'VAT', 'Value added tax', 'GB', 9, 10],
  ]),
  insertList(
    'salestaxitem',
    'id itemid fullname description itemtype rate taxtype taxaccount nexuscountry isdefault exempt',
    [
      [9000002, 'VAT 20%', 'VAT 20%', 'Standard rate', 'TaxItem', 0.2, 1, 9, 1, 'T', 'F'],
      [9000003, 'Zero-rated', 'Zero-rated', 'Zero rate', 'TaxItem', 0, 1, 9, 1, 'F', 'F'],
      [-7, '-Not Taxable-', '-Not Taxable-', null, 'TaxItem', 0, null, null, null, 'F', 'T'],
    ],
  ),
  insertRows('entitystatus', 'key name entitytype probability', [
    [6, 'Unqualified', 'LEAD', 0],
    [7, 'Qualified', 'LEAD', 0.1],
    [10, 'Proposal', 'PROSPECT', 0.5],
    [13, 'Closed Won', 'CUSTOMER', 1],
    [14, 'Closed Lost', 'PROSPECT', 0],
    [16, 'Lost Customer', 'CUSTOMER', 0],
  ]),
  insertList('salesrole', 'id name', [
    [-2, 'Sales Rep'],
    [1, 'Account Manager'],
  ]),
];
