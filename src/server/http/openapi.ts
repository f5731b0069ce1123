import { ERRORS, type ErrorCause } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';

type Json = Record<string, unknown>;
type Schema = Json & { properties?: Record<string, Schema>; required?: string[] };

const JSON_TYPE = 'application/json';
const CSV_TYPE = 'text/csv';
const FORM_TYPE = 'multipart/form-data';
/** Any call may get these; saying so under each would bury what matters. */
const ALWAYS: readonly ErrorCause[] = ['internal_error'];

/** The API as OpenAPI 3.1, from the very table that makes the routes and the schemas that validate. */
export function buildOpenApi(operations: Record<string, Operation>, version: string): Json {
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(operations)) {
    for (const [index, path] of [operation.path, ...(operation.aliases ?? [])].entries()) {
      const described = {
        operationId: index === 0 ? name : `${name}_alias${index}`,
        ...(index > 0 && { description: `The same as ${operation.method} ${operation.path}.` }),
        ...describeOperation(operation),
      };
      paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described };
    }
  }
  const tags = [...new Set(Object.values(operations).map((operation) => operation.tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gateway management API',
      version,
      description:
        'A cost-metering proxy for AI providers. Money is exact: `*_microdollars` are integers (1 USD = ' +
        '1,000,000), `*_usd` are decimal texts. Times are RFC 3339 in UTC; `from` and `to` are whole UTC ' +
        'days, both inclusive.',
    },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        tenant: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'from login or signup' },
        operator: { type: 'http', scheme: 'bearer', description: 'the operator token of this deployment' },
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['error', 'message'],
          properties: {
            error: { type: 'string', description: 'the code programs act on' },
            message: { type: 'string', description: 'the sentence people read' },
          },
        },
      },
      headers: {
        RequestId: { description: 'Finds this call in the server log.', schema: { type: 'string' } },
        RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer' } },
      },
    },
  };
}

/** Every refusal an operation can answer with, those its schemas name included. */
export function refusalsOf(operation: Operation): ErrorCause[] {
  const causes = new Set<ErrorCause>();
  const takesJson = operation.body && !operation.upload;
  if (takesJson) causes.add('invalid_body');
  if (takesJson || operation.query) causes.add('invalid_field');
  for (const schema of [operation.body, operation.query] as Array<Schema | undefined>) {
    for (const property of Object.values(schema?.properties ?? {})) {
      for (const key of ['x-missing', 'x-invalid']) {
        if (property[key]) causes.add(property[key] as ErrorCause);
      }
    }
  }
  if (operation.auth === 'tenant') causes.add('missing_auth').add('invalid_token');
  if (operation.auth === 'operator') causes.add('unauthorized');
  for (const cause of operation.refusals ?? []) causes.add(cause);
  if (operation.path.includes('{')) causes.add('not_found');
  for (const cause of ALWAYS) causes.add(cause);
  return [...causes].sort((a, b) => ERRORS[a].status - ERRORS[b].status);
}

/** A schema without what only our validator reads. */
export function publicSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(publicSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const shown: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (!key.startsWith('x-') && !key.startsWith('~')) shown[key] = publicSchema(value);
  }
  if (Array.isArray(shown.enum) && shown.type === undefined) shown.type = 'string';
  return shown;
}

function describeOperation(operation: Operation): Json {
  const parameters = parametersOf(operation);
  return {
    summary: operation.summary,
    tags: [operation.tag],
    security: operation.auth === 'none' ? [] : [{ [operation.auth]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body && {
      requestBody: {
        required: (operation.body.required ?? []).length > 0,
        content: operation.upload
          ? { [FORM_TYPE]: { schema: formSchema(operation.body) } }
          : { [JSON_TYPE]: { schema: publicSchema(operation.body) } },
      },
    }),
    responses: { [operation.success]: successOf(operation), ...refusalResponses(operation) },
  };
}

/** The texts of an upload, and its file. */
function formSchema(body: unknown): Json {
  const schema = publicSchema(body) as Schema;
  return {
    ...schema,
    required: ['file', ...(schema.required ?? [])],
    properties: {
      file: { type: 'string', contentMediaType: 'application/octet-stream', description: 'the file itself' },
      ...schema.properties,
    },
  };
}

function parametersOf(operation: Operation): Json[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1]!,
    in: 'path',
    required: true,
    schema: { type: 'string', ...(match[1] === 'id' && { format: 'uuid' }) },
  }));
  const query = operation.query as Schema | undefined;
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = publicSchema(property) as Json;
    return {
      name,
      in: 'query',
      required: query?.required?.includes(name) ?? false,
      ...(description !== undefined && { description }),
      schema,
    };
  });
  return [...inPath, ...inQuery];
}

function successOf(operation: Operation): Json {
  const content: Json = {};
  if (operation.response) content[JSON_TYPE] = { schema: publicSchema(operation.response) };
  if (operation.streams === 'csv') content[CSV_TYPE] = { schema: { type: 'string' } };
  if (operation.streams === 'sse') content['text/event-stream'] = { schema: { type: 'string' } };
  return {
    description: operation.success === 204 ? 'Done; no body.' : operation.summary,
    headers: { 'X-Gateway-Request-Id': { $ref: '#/components/headers/RequestId' } },
    ...(Object.keys(content).length > 0 && { content }),
  };
}

function refusalResponses(operation: Operation): Json {
  const byStatus = new Map<number, ErrorCause[]>();
  for (const cause of refusalsOf(operation)) {
    const { status } = ERRORS[cause];
    byStatus.set(status, [...(byStatus.get(status) ?? []), cause]);
  }
  const responses: Json = {};
  for (const [status, causes] of byStatus) {
    const bodies = causes.map((cause) => {
      const row: { message: string; code?: string } = ERRORS[cause];
      return [cause, { value: { error: row.code ?? cause, message: row.message } }] as const;
    });
    responses[status] = {
      description: bodies.map(([, { value }]) => `\`${value.error}\`: ${value.message}`).join('\n\n'),
      headers: {
        'X-Gateway-Request-Id': { $ref: '#/components/headers/RequestId' },
        ...(status === 429 && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
      },
      content: {
        [JSON_TYPE]: {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(bodies),
        },
      },
    };
  }
  return responses;
}
