// Random scopes of keys and tokens over the versions of a company.
import type { Condition, EndpointModel, FieldModel, Layer, VersionModel } from './model.ts';
import type { Random } from './random.ts';
import type { Pools } from './records.ts';

export const unlimited: Layer = { versions: [], resources: [], rows: null, fields: null };

export type Values = { readonly pools: Pools; readonly ids: Readonly<Record<string, readonly string[]>> };

/** The same number or time, written in another way. */
function respelled(random: Random, kind: FieldModel['kind'], value: string): string {
  if (!random.chance(0.3)) return value;
  if (kind === 'number') return `0${value}0`;
  if (kind === 'integer') return `0${value}`;
  return kind === 'time' ? value.slice(0, 10) : value;
}

function randomCondition(random: Random, { kind, name, source }: FieldModel, { pools }: Values): Condition {
  const values = random.some(pools.values[source] ?? [], 1).slice(0, 3);
  return { field: name, source, in: values.map((value) => respelled(random, kind, value)) };
}

export function randomConditions(random: Random, endpoint: EndpointModel, values: Values): Condition[] {
  if (random.chance(0.1)) return [];
  if (random.chance(0.15))
    return [
      {
        field: 'id',
        source: 'id',
        in: [...random.some(values.ids[endpoint.recordType] ?? []).slice(0, 40), random.id()],
      },
    ];
  const scopable = endpoint.fields.filter((field) => field.scopable);
  const owner = scopable.filter(({ source }) => source === 'owner');
  const chosen = random.chance(0.6) && owner.length > 0 ? owner : random.some(scopable, 1).slice(0, 2);
  return chosen.map((field) => randomCondition(random, field, values));
}

/** Names and conditions are those of one version; in the other one they may not apply. */
export function randomLayer(random: Random, versions: readonly VersionModel[], values: Values): Layer {
  const version = random.pick(versions);
  const named = random.some(version.endpoints, 1);
  const rows = random.chance(0.8)
    ? {
        resources: Object.fromEntries(
          named.map((endpoint) => [
            endpoint.name,
            { recordType: endpoint.recordType, conditions: randomConditions(random, endpoint, values) },
          ]),
        ),
        others: random.chance(0.3),
      }
    : null;
  const fields = random.chance(0.5)
    ? Object.fromEntries(
        random
          .some(version.endpoints, 1)
          .map((endpoint) => [endpoint.name, random.some(endpoint.fields, 1).map(({ name }) => name)]),
      )
    : null;
  return {
    versions: random.chance(0.2) ? [version.version] : [],
    resources: random.chance(0.15) ? random.some(version.endpoints, 1).map(({ name }) => name) : [],
    rows,
    fields,
  };
}
