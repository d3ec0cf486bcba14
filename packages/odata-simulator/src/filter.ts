// $filter: a condition on one entity. It also says from which value of a property on it can hold, so that a list in the
// order of that property is read from there.
import {
  type Comparable,
  compare,
  type Form,
  findForm,
  isValid,
  PLAIN_FORMS,
  toComparable,
  type Value,
  type Values,
} from './edm.ts';
import { badRequest, unsupported } from './odata-error.ts';
import type { EntitySet, Profile, Property } from './profiles/profile.ts';

export type Condition = {
  /** null where a function of null is undefined, which counts as false. */
  test(values: Values): boolean | null;
  /** Entities with lower values of this property don't match. Undefined if any value can match. */
  lowerBound(property: string): Comparable | undefined;
  /** Whether the property is compared with given values by `eq` or `in`. */
  fixes(property: string): boolean;
};
type Literal = { form: Form | 'null'; text: string };
type Token = { word: string; literal?: Literal };
type Parts = { profile: Profile; set: EntitySet };
type Tokens = { peek(): Token | undefined; take(): Token; accept(word: string): boolean };
type Operand = { path: string; property: Property; read(values: Values): Value };

const TOKEN = /\s*(?:([(),])|([A-Za-z_][\w.]*)?'((?:[^']|'')*)'|([^\s(),']+))/;
const NOTHING = { lowerBound: () => undefined, fixes: () => false };

function parseQuoted({ enums, namespace }: Profile, prefix: string | undefined, text: string): Literal {
  if (prefix === undefined) return { form: 'text', text };
  if (prefix === 'duration' || prefix === 'binary') return { form: prefix, text };
  const isEnum = Object.keys(enums).some((name) => prefix === `${namespace}.${name}`);
  if (!isEnum) throw badRequest(`The literal ${prefix}'${text}' has an unknown type.`);
  return { form: 'text', text };
}

/** Undefined for words that are no literals, such as operators and properties. */
function parsePlain(word: string): Literal | undefined {
  if (word === 'null') return { form: 'null', text: word };
  if (word === 'true' || word === 'false') return { form: 'boolean', text: word };
  const form = PLAIN_FORMS.find(([, pattern]) => pattern.test(word))?.[0];
  return form && { form, text: word };
}

/** Throws ODataError 400 where the text has no token. */
export function tokenize(profile: Profile, text: string): Tokens {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN, 'y');
  while (text.slice(pattern.lastIndex).trim() !== '') {
    const at = pattern.lastIndex;
    const [whole, mark, prefix, quoted, word = ''] = pattern.exec(text) ?? [];
    if (whole === undefined) throw badRequest(`Syntax error at position ${at} in '${text}'.`);
    const literal =
      quoted === undefined ? parsePlain(word) : parseQuoted(profile, prefix, quoted.replaceAll("''", "'"));
    tokens.push({ word: mark ?? (quoted === undefined ? word : ''), ...(literal && { literal }) });
  }
  const take = (): Token => {
    const token = tokens.shift();
    if (!token) throw badRequest(`Unexpected end of '${text}'.`);
    return token;
  };
  return {
    peek: () => tokens[0],
    take,
    accept: (word) => tokens[0]?.word === word && take() !== undefined,
  };
}

function expect(tokens: Tokens, word: string): void {
  const found = tokens.take();
  if (found.word !== word) throw badRequest(`'${word}' is expected where '${found.word}' is.`);
}

/** The comparable value of a literal. Throws ODataError 400 where the property's type doesn't go with it. */
export function toLiteralValue(profile: Profile, { type }: Property, { form, text }: Literal): Comparable {
  if (form === 'null') return null;
  if (findForm(profile, type) !== form)
    throw badRequest(
      `Incompatible types: ${type} can't be compared with the literal '${text}' of form ${form}.`,
    );
  if (form !== 'number' && !isValid(profile, type, text))
    throw badRequest(`'${text}' is no value of ${type}.`);
  return toComparable(profile, type, form === 'boolean' ? text === 'true' : text);
}

/** Throws ODataError 400 for an unknown property, 501 for one of another entity. */
function getOperand({ profile, set }: Parts, path: string): Operand {
  const [name = '', inner] = path.split('/');
  const outer = set.properties[name];
  if (set.references?.[name])
    throw unsupported(`Conditions on other entities, as ${path}, are not supported.`);
  const property = inner === undefined ? outer : profile.complexTypes[outer?.type ?? '']?.[inner];
  if (!property) throw badRequest(`Could not find a property named '${path}' on type '${set.type}'.`);
  const read = (values: Values): Value => {
    const value = values[name] ?? null;
    return inner === undefined ? value : ((value as Values | null)?.[inner] ?? null);
  };
  return { path, property, read };
}

const TESTS: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
};

function createComparison(
  { profile }: Parts,
  operand: Operand,
  operator: string,
  literals: Literal[],
): Condition {
  const given = literals.map((literal) => toLiteralValue(profile, operand.property, literal));
  const holds = TESTS[operator === 'in' ? 'eq' : operator];
  if (!holds) throw badRequest(`Unknown operator '${operator}'.`);
  const isEquality = /^(?:eq|ne|in)$/.test(operator);
  const isFixed = operator === 'eq' || operator === 'in';
  return {
    test(values) {
      const own = toComparable(profile, operand.property.type, operand.read(values));
      return given.some((value) =>
        !isEquality && (own === null || value === null) ? false : holds(compare(own, value)),
      );
    },
    lowerBound: (property) =>
      property === operand.path && (isFixed || operator.startsWith('g'))
        ? given.toSorted(compare)[0]
        : undefined,
    fixes: (property) => property === operand.path && isFixed,
  };
}

const CALLS: Readonly<Record<string, (value: string, part: string) => boolean>> = {
  contains: (value, part) => value.includes(part),
  startswith: (value, part) => value.startsWith(part),
  endswith: (value, part) => value.endsWith(part),
};

function parseCall(parts: Parts, tokens: Tokens, name: string): Condition {
  const call = CALLS[name];
  if (!call) throw unsupported(`The function '${name}' is not supported.`);
  expect(tokens, '(');
  const operand = getOperand(parts, tokens.take().word);
  expect(tokens, ',');
  const { literal } = tokens.take();
  expect(tokens, ')');
  if (literal?.form !== 'text' || operand.property.type !== 'Edm.String')
    throw badRequest(`No function signature matches ${name}(${operand.property.type}, ${literal?.form}).`);
  const test = (values: Values): boolean | null => {
    const value = operand.read(values);
    return typeof value === 'string' ? call(value, literal.text) : null;
  };
  return { test, ...NOTHING };
}

function parseOperand(parts: Parts, tokens: Tokens): Condition | Operand {
  if (tokens.accept('(')) {
    const inner = parseOr(parts, tokens);
    expect(tokens, ')');
    return inner;
  }
  const { word, literal } = tokens.take();
  if (literal) throw badRequest(`A property is expected where the literal '${literal.text}' is.`);
  return tokens.peek()?.word === '(' ? parseCall(parts, tokens, word) : getOperand(parts, word);
}

function toCondition(operand: Condition | Operand): Condition {
  if ('test' in operand) return operand;
  if (operand.property.type !== 'Edm.Boolean') throw badRequest(`'${operand.path}' is no condition.`);
  return { test: (values) => operand.read(values) as boolean | null, ...NOTHING };
}

function takeLiteral(tokens: Tokens): Literal {
  const { word, literal } = tokens.take();
  if (!literal) throw badRequest(`A literal is expected where '${word}' is.`);
  return literal;
}

function parseComparison(parts: Parts, tokens: Tokens): Condition {
  if (tokens.accept('not')) {
    const negated = toCondition(parseOperand(parts, tokens));
    const test = (values: Values): boolean | null => {
      const result = negated.test(values);
      return result === null ? null : !result;
    };
    return { test, ...NOTHING };
  }
  const operand = parseOperand(parts, tokens);
  const operator = tokens.peek()?.word ?? '';
  if ('test' in operand || /^(?:and|or|\)|)$/.test(operator)) return toCondition(operand);
  tokens.take();
  if (operator !== 'in') return createComparison(parts, operand, operator, [takeLiteral(tokens)]);
  expect(tokens, '(');
  const literals = [takeLiteral(tokens)];
  while (tokens.accept(',')) literals.push(takeLiteral(tokens));
  expect(tokens, ')');
  return createComparison(parts, operand, 'in', literals);
}

function parseAnd(parts: Parts, tokens: Tokens): Condition {
  const left = parseComparison(parts, tokens);
  if (!tokens.accept('and')) return left;
  const right = parseAnd(parts, tokens);
  return {
    test(values) {
      const first = left.test(values);
      if (first === false) return false;
      const second = right.test(values);
      return second === false ? false : first === null ? null : second;
    },
    lowerBound(property) {
      const [a, b] = [left.lowerBound(property), right.lowerBound(property)];
      return a === undefined || b === undefined ? (a ?? b) : compare(a, b) < 0 ? b : a;
    },
    fixes: (property) => left.fixes(property) || right.fixes(property),
  };
}

function parseOr(parts: Parts, tokens: Tokens): Condition {
  const left = parseAnd(parts, tokens);
  if (!tokens.accept('or')) return left;
  const right = parseOr(parts, tokens);
  return {
    test(values) {
      const first = left.test(values);
      if (first === true) return true;
      const second = right.test(values);
      return second === true ? true : first === null ? null : second;
    },
    lowerBound(property) {
      const [a, b] = [left.lowerBound(property), right.lowerBound(property)];
      return a === undefined || b === undefined ? undefined : compare(a, b) < 0 ? a : b;
    },
    fixes: (property) => left.fixes(property) && right.fixes(property),
  };
}

/** Throws ODataError: 400 for wrong syntax, names and types, 501 for what isn't supported. */
export function parseFilter(parts: Parts, text: string): Condition {
  const tokens = tokenize(parts.profile, text);
  const condition = parseOr(parts, tokens);
  const rest = tokens.peek();
  if (rest) throw badRequest(`Syntax error: unexpected '${rest.word || rest.literal?.text}' in '${text}'.`);
  return condition;
}
