import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { ERRORS, type ErrorCause, type Refusal, refuse } from '../../contract/errors.ts';

interface SchemaError {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
}
type Property = TSchema & {
  type?: string;
  anyOf?: Property[];
  items?: Property;
  enum?: unknown[];
  default?: unknown;
  'x-missing'?: ErrorCause;
  'x-invalid'?: ErrorCause;
  description?: string;
};

export interface Validator {
  /** The checked value with defaults filled in, and the names it had that the schema does not. */
  check(value: unknown): { value: Record<string, unknown>; unknown: string[] } | Refusal;
}

/** Turns one input schema of the contract into a check that answers with that contract's own refusals. */
export function compileValidator(schema: TObject): Validator {
  const compiled = Compile(schema);
  const properties = schema.properties as Record<string, Property>;
  return {
    check(value) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('invalid_body');
      const given = value as Record<string, unknown>;
      const known: Record<string, unknown> = {};
      for (const [name, property] of Object.entries(properties)) {
        const field = Object.hasOwn(given, name) ? given[name] : property.default;
        // An empty text where something is required is as good as nothing.
        if (field === undefined || (field === '' && property['x-missing'])) continue;
        known[name] = field;
      }
      if (!compiled.Check(known)) return refusalFor(properties, [...compiled.Errors(known)] as SchemaError[]);
      const unknown = Object.keys(given).filter((name) => !Object.hasOwn(properties, name));
      return { value: known, unknown };
    },
  };
}

/** Writes an answer with the fields its contract names and no others: a row never shows more than was meant. */
export function compileWriter(schema: TSchema | null): (answer: unknown) => string {
  if (!schema) return JSON.stringify;
  const compiled = Compile(schema);
  return (answer) => JSON.stringify(compiled.Clean(answer));
}

function refusalFor(properties: Record<string, Property>, errors: readonly SchemaError[]): Refusal {
  const missing = errors.find((error) => error.keyword === 'required' && error.instancePath === '');
  const missingNames = (missing?.params.requiredProperties as string[] | undefined) ?? [];
  // In the order the contract declares its fields, so that the same mistake always gets the same answer.
  for (const [name, property] of Object.entries(properties)) {
    if (missingNames.includes(name)) {
      const code = property['x-missing'] ?? 'invalid_field';
      return refuse(
        code,
        code === 'invalid_field' ? `The field "${name}" is required.` : codedProblem(code, property),
      );
    }
    const error = errors.find(
      ({ instancePath }) => instancePath === `/${name}` || instancePath.startsWith(`/${name}/`),
    );
    if (error) {
      const code = property['x-invalid'] ?? 'invalid_field';
      return refuse(
        code,
        code === 'invalid_field' ? fieldProblem(name, property, error) : codedProblem(code, property),
      );
    }
  }
  return refuse('invalid_body');
}

/** A code of its own has a sentence of its own; a list of choices comes after it. */
function codedProblem(code: ErrorCause, property: Property): string | undefined {
  const choices = property.items?.enum;
  return choices && `${ERRORS[code].message} Allowed are ${choices.join(', ')}.`;
}

function fieldProblem(name: string, property: Property, error: SchemaError): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.');
  return `The field "${path || name}" is not valid: ${allowed(property, error)}.`;
}

function allowed(property: Property, error: SchemaError): string {
  const choices = property.enum ?? property.anyOf?.find((option) => option.enum)?.enum;
  if (choices) return `allowed are ${choices.join(', ')}`;
  if (error.keyword === 'pattern' || error.keyword === 'format') {
    return property.description ? `it must be ${property.description}` : 'it has a form that is not allowed';
  }
  return `it ${error.message}`;
}

/**
 * Query text into the types the schema asks for. Only exact spellings are taken: "1.5" for an integer stays
 * text and is then refused, instead of being cut to 1.
 */
export function readQuery(schema: TObject, raw: Record<string, unknown>): Record<string, unknown> {
  const properties = schema.properties as Record<string, Property>;
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(raw)) {
    const text = Array.isArray(value) ? value[value.length - 1] : value;
    const type = properties[name]?.type;
    if (text === '' && properties[name]) continue;
    if (type === 'integer' && typeof text === 'string' && /^-?\d{1,15}$/.test(text))
      read[name] = Number(text);
    else if (type === 'number' && typeof text === 'string' && /^-?\d{1,15}(\.\d{1,9})?$/.test(text))
      read[name] = Number(text);
    else if (type === 'boolean' && (text === 'true' || text === 'false')) read[name] = text === 'true';
    else read[name] = text;
  }
  return read;
}
