// Writes a Python program that uses everything that a random version declares, and lines that the type checker
// must refuse: its setting makes an ignored line without an error an error.

import type { RandomEndpoint, RandomVersion } from './random-versions.ts';
import { findEquality } from './typescript-scenario.ts';

const attributeOf = (name: string): string => name.replaceAll('-', '_');
const text = (value: unknown): string => JSON.stringify(value);

function writeResource(endpoint: RandomEndpoint, record: string, version: string): string {
  const { name, fields, aggregates, relations } = endpoint;
  const equality = findEquality(endpoint);
  const sum = aggregates?.[0]?.field;
  const relation = relations?.[0]?.name;
  const first = text(fields[0]?.name);
  const lines = [
    `resource = ${version}.connect(url, key).${attributeOf(name)}`,
    'records = [record for record in resource.list(pageSize=2)]',
    `one: ${version}.${record} = records[0]`,
    `value = resource.get(one["id"], fields=[${first}])[${first}]`,
    `out: t.Dict[str, t.Any] = {"list": records, "exported": list(resource.export()), "changes": list(resource.changes())}`,
    `out.update({"first": resource.get(one["id"]), "value": value})`,
    // Pyright takes a parameter called `get` for the method of dictionaries.
    ...(equality === undefined || equality === 'get'
      ? []
      : [
          `given = next((each for each in [record[${text(equality)}] for record in records] if each is not None), None)`,
          'if given is not None:',
          `    parameters: ${version}.${record}ListParameters = {${text(equality)}: [given, given]}`,
          '    out["filtered"] = resource.list(**parameters).page().data',
        ]),
    ...(sum === undefined
      ? []
      : [
          `asked: ${version}.${record}SummaryParameters = {"sum": ${text(sum)}, "count": True}`,
          'out["summary"] = resource.summary(**asked).data',
        ]),
    ...(relation === undefined
      ? []
      : [
          `out["related"] = resource.list(fields=["id"], expand=[${text(relation)}], pageSize=100).page().data`,
        ]),
    `found[${text(name)}] = out`,
    'def refused() -> None:',
    '    resource.list(no_such_filter=1)  # pyright: ignore',
    '    resource.list(pageSize=1, no_such_filter=1)  # pyright: ignore',
    '    resource.get("1", fields=["no_such_field"])  # pyright: ignore',
    '    resource.export(pageSize=1)  # pyright: ignore',
    '    one["no_such_field"]  # pyright: ignore',
    'assert refused is not None',
  ];
  const functionName = `read_${name.replaceAll('-', '_')}`;
  return `\n\ndef ${functionName}(url: str, key: str, found: t.Dict[str, t.Any]) -> None:\n${lines.map((line) => `    ${line}\n`).join('')}`;
}

/** A module with a function `run`. `recordOf` gives the component of a resource's record. */
export function writePythonScenario(
  { version, endpoints }: RandomVersion,
  componentOf: (resource: string) => string,
): string {
  const recordOf = (resource: string) => componentOf(resource).replace(/^None$/, 'None_');
  const calls = endpoints.map(({ name }) => `    read_${name.replaceAll('-', '_')}(url, key, found)\n`);
  return `import typing as t

from portal import ${version}
${endpoints.map((endpoint) => writeResource(endpoint, recordOf(endpoint.name), version)).join('')}

def run(url: str, key: str) -> t.Dict[str, t.Any]:
    found: t.Dict[str, t.Any] = {}
${calls.join('')}    return found
`;
}

/** Runs the scenarios and prints what each read. Numbers become those of JSON again, large ones text. */
export const writePythonMain = (versions: readonly RandomVersion[]): string => `import decimal
import importlib
import json
import os
import typing as t


def wire(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {name: wire(inner) for name, inner in t.cast("t.Dict[str, t.Any]", value).items()}
    if isinstance(value, list):
        return [wire(inner) for inner in t.cast("t.List[t.Any]", value)]
    if isinstance(value, decimal.Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value


found = {
    name: wire(importlib.import_module("scenario_" + name).run(os.environ["PORTAL_URL"], os.environ["PORTAL_KEY"]))
    for name in ${text(versions.map(({ version }) => version))}
}
print(json.dumps(found))
`;
