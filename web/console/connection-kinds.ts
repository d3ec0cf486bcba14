// What the console asks for when a connection of some kind is entered: made from the schemas of the kinds in
// docs/openapi.json while the console is built, so that a browser loads a list of fields and no schemas.

/** One value that a person enters, much as the forms of the console take it. */
export type KindField = {
  /** Where it is in the settings, such as `signIn.clientId`; secrets are `secrets.password`. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?: 'number' | 'check' | 'password';
  /** The value is JSON of several lines. */
  readonly rows?: number;
  readonly advanced?: true;
  readonly options?: readonly (readonly [value: string, title: string])[];
  readonly required?: true;
  /** What becomes null when nothing is entered: the value, or for the choice of a union the whole union. */
  readonly nullable?: string;
  readonly initial?: string;
  /** Values of other fields, all of which make it appear. */
  readonly when?: Readonly<Record<string, string>>;
};
export type Kind = {
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly fields: readonly KindField[];
};

/** As far as the schemas of kinds use OpenAPI. */
type Schema = {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly 'x-enumDescriptions'?: Readonly<Record<string, string>>;
  /** Of secrets: the setting and its value to which they belong. */
  readonly 'x-when'?: Readonly<Record<string, string>>;
};
/** `within` is the label of an optional union, which the labels of its fields begin with. */
type Place = Pick<KindField, 'when'> & {
  /** Empty: the settings themselves. */
  readonly at: string;
  readonly isRequired: boolean;
  readonly within?: string;
};

/** `tokenUrl` as "Token URL". */
function toLabel(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\burl\b/g, 'URL');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Field names in Markdown are plain text on a form. */
const toText = (description: string): string => description.replaceAll('`', '');

const join = (...names: readonly string[]): string => names.filter((name) => name !== '').join('.');

/** A field of its own name, or `name` where the field chooses a branch of a union at this place. */
function describe(schema: Schema, { at, within, when }: Place, name = at) {
  const { title = toLabel(at.split('.').at(-1) ?? ''), description } = schema;
  return {
    name,
    label: within === undefined ? title : `${within}: ${title.toLowerCase()}`,
    ...(description !== undefined && { hint: `${toText(description)}.` }),
    ...(when && { when }),
  };
}

const inputs: Readonly<Record<string, Partial<KindField>>> = {
  integer: { kind: 'number' },
  number: { kind: 'number' },
  boolean: { kind: 'check' },
  object: { rows: 6, advanced: true },
};

function toScalar(schema: Schema, place: Place): KindField {
  const { nullable, default: initial, enum: values, type = '' } = schema;
  const titles = schema['x-enumDescriptions'];
  const options = values?.map((value) => [value, titles?.[value] ?? toLabel(value)] as const);
  return {
    ...describe(schema, place),
    ...inputs[type],
    ...(options && { options: nullable === true ? [['', 'None'], ...options] : options }),
    ...(place.isRequired && { required: true }),
    ...(nullable === true && { nullable: place.at }),
    ...(initial != null && typeof initial !== 'object' && { initial: String(initial) }),
  };
}

/** The property that has one value in each branch, by which the branches differ. */
const findDiscriminator = ([first]: readonly Schema[]): string | undefined =>
  Object.entries(first?.properties ?? {}).find(([, { enum: values }]) => values?.length === 1)?.[0];

function listUnion(schema: Schema, branches: readonly Schema[], place: Place): KindField[] {
  const { at, when, isRequired } = place;
  const name = findDiscriminator(branches);
  if (name === undefined) return branches.flatMap((branch) => listFields(branch, place));
  const chosen = join(at, name);
  const about = describe(schema, place, chosen);
  const within = schema.nullable === true ? { within: about.label } : {};
  const known = branches.map((branch) => [branch.properties?.[name]?.enum?.[0] ?? '', branch] as const);
  const options = known.map(([value, { title = toLabel(value) }]) => [value, title] as const);
  return [
    {
      ...about,
      ...(schema.nullable === true
        ? { nullable: at, options: [['', 'None'], ...options] }
        : { required: true, options }),
    },
    ...known.flatMap(([value, branch]) => {
      const { [name]: _, ...properties } = branch.properties ?? {};
      const inBranch = { at, isRequired, when: { ...when, [chosen]: value }, ...within };
      return listFields({ ...branch, properties }, inBranch);
    }),
  ];
}

function listFields(schema: Schema, place: Place): KindField[] {
  const branches = schema.oneOf ?? schema.anyOf;
  if (branches !== undefined) return listUnion(schema, branches, place);
  if (schema.properties === undefined) return [toScalar(schema, place)];
  const when = { ...place.when, ...schema['x-when'] };
  return Object.entries(schema.properties).flatMap(([name, property]) =>
    listFields(property, {
      ...place,
      ...(Object.keys(when).length > 0 && { when }),
      at: join(place.at, name),
      isRequired: schema.required?.includes(name) === true,
    }),
  );
}

/** Each secret comes after the settings that it belongs to. */
function withSecrets(settings: readonly KindField[], secrets: readonly KindField[]): KindField[] {
  const all = [...settings];
  for (const secret of secrets) {
    const when = JSON.stringify(secret.when);
    const last = all.findLastIndex((field) => JSON.stringify(field.when) === when);
    all.splice(last === -1 ? all.length : last + 1, 0, { ...secret, kind: 'password' });
  }
  return all;
}

function toKind({ title = '', description = '', properties = {} }: Schema): Kind {
  const { kind, settings = {}, secrets = {} } = properties;
  const list = (schema: Schema, at: string): KindField[] =>
    listFields({ properties: {}, ...schema }, { at, isRequired: true });
  return {
    kind: kind?.enum?.[0] ?? '',
    title,
    text: toText(description),
    fields: withSecrets(list(settings, ''), list(secrets, 'secrets')),
  };
}

type Body = { requestBody: { content: { 'application/json': { schema: Schema } } } };

/** The kinds that `POST /connections` of this OpenAPI document accepts, in its order. */
export const listKinds = (openapi: { paths: { '/connections': { post: Body } } }): Kind[] =>
  (openapi.paths['/connections'].post.requestBody.content['application/json'].schema.oneOf ?? []).map(toKind);
