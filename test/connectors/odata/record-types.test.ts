// How entity sets become record types where names, labels, keys, lines and volatile fields could be mistaken.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCsdlParser } from '../../../src/connectors/odata/metadata/csdl.ts';
import { describeRecordTypes, listHeads } from '../../../src/connectors/odata/metadata/describe.ts';
import { expectErpError } from '../netsuite/wire.ts';
import { metadataWith, settingsFor } from './service.ts';

function parse(text: string) {
  const parser = createCsdlParser();
  parser.write(text);
  return parser.end();
}

const set = (name: string, type = 'ns.thing', inside = '') =>
  `<EntitySet Name="${name}" EntityType="${type}">${inside}</EntitySet>`;
const typeOf = (name: string, inside: string, key = 'Edm.Int32') =>
  `<EntityType Name="${name}"><Key><PropertyRef Name="id"/></Key><Property Name="id" Type="${key}"/>${inside}</EntityType>`;
const thing = (inside = '', key?: string) => typeOf('thing', inside, key);
const property = (name: string, type = 'Edm.String', inside = '') =>
  `<Property Name="${name}" Type="${type}">${inside}</Property>`;

type Settings = Partial<Parameters<typeof settingsFor>[1]>;
async function describeAll(types: string, sets: string, settings: Settings = {}) {
  const csdl = parse(metadataWith(types, sets));
  const options = settingsFor('', settings);
  const names = listHeads(csdl, options).map(({ name }) => name);
  return new Map(describeRecordTypes(csdl, options, names).map((one) => [one.table, one]));
}
async function describeThing(types: string, settings?: Settings, sets = set('things')) {
  const found = (await describeAll(types, sets, settings)).get('things');
  if (found === undefined) throw new Error('no things');
  return found;
}

describe('the name of a record type', () => {
  const hashed = (folded: string, name: string) =>
    `${folded}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  const namesOf = async (...sets: string[]) => {
    const described = await describeAll(thing(), sets.map((name) => set(name)).join(''));
    expect([...described.values()].map(({ reason }) => reason)).toEqual(sets.map(() => null));
    return Object.fromEntries([...described].map(([table, { name }]) => [table, name]));
  };
  const long = `n${'x'.repeat(63)}`;

  it('follows from the name of the entity set, whatever other sets there are', async () => {
    const expected = {
      a_b: 'a_b',
      'a-b': hashed('a_b', 'a-b'),
      ä_b: hashed('x__b', 'ä_b'),
      '1b': hashed('x1b', '1b'),
      [long]: hashed(long.slice(0, 54), long),
    };
    expect(await namesOf('a_b', 'a-b', 'ä_b', '1b', long)).toEqual(expected);
    expect(await namesOf('a-b')).toEqual({ 'a-b': expected['a-b'] });
    expect(await namesOf('a!b', 'a-b', 'a_b')).toMatchObject({ a_b: 'a_b', 'a-b': expected['a-b'] });
    expect(expected[long]).toHaveLength(63);
  });

  it('has a hash for every set of several whose names differ in case alone', async () => {
    expect(await namesOf('Things', 'other', 'things')).toEqual({
      Things: hashed('Things', 'Things'),
      other: 'other',
      things: hashed('things', 'things'),
    });
  });
});

describe('annotations', () => {
  const label = (term: string, text: string, more = '') =>
    `<Annotation Term="${term}" String="${text}" ${more}/>`;
  const sapLabel = 'com.sap.vocabularies.Common.v1.Label';
  const description = 'Org.OData.Core.V1.Description';

  it('are labels of the known vocabularies only, without a qualifier, and of the element itself', async () => {
    const types = thing(
      [
        property('foreign', undefined, label('com.x.UI.Label', 'wrong')),
        property('sap', undefined, label(sapLabel, 'SAP’s') + label(description, 'wrong')),
        property(
          'core',
          undefined,
          label(description, 'described') + label(sapLabel, 'wrong', 'Qualifier="x"'),
        ),
        property('nested', undefined, `<Annotation Term="a.b">${label(description, 'wrong')}</Annotation>`),
        property('late'),
      ].join(''),
    );
    const targets = `<Annotations Target="ns.thing/late" Qualifier="x">${label(sapLabel, 'wrong')}</Annotations>
      <Annotations Target="ns.all/things">${label(sapLabel, 'All things')}</Annotations>`;
    const { fields, label: own } = await describeThing(types + targets);
    const labels = Object.fromEntries(fields.map((field) => [field.name, field.label]));
    expect({ ...labels, own }).toEqual({
      ...{ id: 'id', foreign: 'foreign', sap: 'SAP’s', core: 'described', nested: 'nested', late: 'late' },
      own: 'All things',
    });
  });
});

describe('a singleton behind an entity set', () => {
  it('does not change what the navigation properties of the set are bound to', async () => {
    const navigation =
      '<NavigationProperty Name="to" Type="ns.other"><ReferentialConstraint Property="otherId" ReferencedProperty="id"/></NavigationProperty>';
    const bind = (target: string) => `<NavigationPropertyBinding Path="to" Target="${target}"/>`;
    const sets = `${set('open', 'ns.other')}${set('closed', 'ns.other')}${set('things', 'ns.thing', bind('open'))}
      <Singleton Name="me" Type="ns.thing">${bind('closed')}</Singleton>`;
    const types = thing(property('otherId', 'Edm.Int32') + navigation) + typeOf('other', '');
    const { fields } = await describeThing(types, {}, sets);
    expect(fields.find(({ name }) => name === 'otherId')).toMatchObject({
      type: 'reference',
      target: 'open',
    });
  });
});

describe('metadata of OData v2 and v3', () => {
  it.each(['2.0', '3.0'])('are refused by that name: %s', async (version) => {
    const text = `<edmx:Edmx Version="1.0" xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx">
      <edmx:DataServices m:DataServiceVersion="${version}" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
      <Schema Namespace="ns"/></edmx:DataServices></edmx:Edmx>`;
    const error = await expectErpError((async () => parse(text))(), 'answer', 'METADATA_UNREADABLE');
    expect(error.message).toBe('The service speaks OData v2 or v3, not v4');
  });
});

describe('keys', () => {
  it.each([
    ['Edm.Int64', 'text', 'server', 'text'],
    ['Edm.Int32', 'integer', undefined, 'integer'],
    ['Edm.Byte', 'integer', undefined, 'integer'],
  ])('of type %s are of type %s', async (key, idType, keyOrder, type) => {
    const described = await describeThing(thing('', key));
    expect([described.idType, described.keyOrder, described.fields[0]?.type]).toEqual([
      idType,
      keyOrder,
      type,
    ]);
  });
});

describe('lines', () => {
  const lineNameOf = async (...names: string[]) => {
    const navigations = names.map(
      (name) => `<NavigationProperty Name="${name}" Type="Collection(ns.line)"/>`,
    );
    const { definition } = await describeThing(thing(navigations.join('')) + typeOf('line', ''));
    return definition.lines?.navigation ?? null;
  };

  it.each([
    ...[
      'SalesOrderLines',
      '_PurchaseOrderItem',
      'to_Items',
      'lines',
      'items',
      'SOLineCollection',
      'order_lines',
    ],
    ...['SOItemCollection', 'INVOICE_LINES', 'line'],
  ])('are found by a name that ends with that word: %s', async (name) => {
    expect(await lineNameOf('Deadlines', name)).toBe(name);
  });

  it('are not found by a name that only ends with the same letters', async () => {
    for (const name of ['Deadlines', 'outlines', 'Baselineitemx', 'DEADLINES', 'pipeline'])
      expect([name, await lineNameOf(name)]).toEqual([name, null]);
  });
});

describe('records whose volatile fields may change', () => {
  const amount = (name: string, type = 'Edm.Decimal') => property(name, type);
  const open = (field: string) => ({ field, isNoneOf: ['0'], closedOn: null });

  it.each([
    [
      'businessCentral',
      ['remainingAmount', 'status'],
      open('remainingAmount'),
      ['remainingAmount', 'status'],
    ],
    ['businessCentral', ['balanceDue'], null, ['balanceDue']],
    ['acumatica', ['DocBal', 'CuryDocBal', 'Status'], open('DocBal'), ['DocBal', 'CuryDocBal', 'Status']],
    ['acumatica', ['Balance', 'Status'], null, ['Status']],
    ['generic', ['remainingAmount', 'DocBal'], null, []],
  ] as const)('of %s with %s are open', async (dialect, names, openWhen, volatile) => {
    const described = await describeThing(thing(names.map((name) => amount(name)).join('')), { dialect });
    expect(described.openWhen).toEqual(openWhen);
    expect(described.fields.filter((field) => field.volatile).map(({ name }) => name)).toEqual(volatile);
  });

  it('are not named by a field that can’t be synced', async () => {
    const dialect = 'businessCentral';
    const stream = thing(amount('remainingAmount', 'Edm.Stream'));
    expect((await describeThing(stream, { dialect })).openWhen).toBeNull();
    const keyless = `<EntityType Name="thing">${amount('remainingAmount')}</EntityType>`;
    expect((await describeThing(keyless, { dialect })).openWhen).toBeNull();
  });
});

describe('a service with thousands of entity sets', () => {
  it('is described without a search through all of them for each reference', async () => {
    const count = 3_000;
    const numbers = Array.from({ length: count }, (_, n) => n);
    const navigations = Array.from({ length: 20 }, (_, n) => {
      const name = `to${n}`;
      return `${property(name, 'Edm.Int32')}<NavigationProperty Name="_${name}" Type="ns.t${n}"><ReferentialConstraint Property="${name}" ReferencedProperty="id"/></NavigationProperty>`;
    }).join('');
    const types = numbers.map((n) => typeOf(`t${n}`, n < 100 ? navigations : '')).join('');
    const sets = numbers.map((n) => set(`s${n}`, `ns.t${n}`)).join('');
    const csdl = parse(metadataWith(types, sets));
    const wanted = numbers.slice(0, 100).map((n) => `s${n}`);
    const options = settingsFor('');
    const startedAt = performance.now();
    const described = describeRecordTypes(csdl, options, wanted);
    expect(performance.now() - startedAt).toBeLessThan(300);
    expect(
      described.flatMap(({ fields }) => fields.filter(({ target }) => target !== undefined)),
    ).toHaveLength(2_000);
  });
});
