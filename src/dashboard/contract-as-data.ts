import { readFile } from 'node:fs/promises';
import { type Plugin, runnerImport } from 'vite';

const CONTRACT_FILE = /\/src\/contract\/[\w-]+\.ts$/;

/** What the client needs of an operation; schemas, summaries and refusals stay on the server. */
function callable(operation: Record<string, unknown>): Record<string, unknown> {
  const { method, path, auth, body, upload } = operation;
  return {
    method,
    path,
    auth,
    ...(body !== undefined && { body: true }),
    ...(upload !== undefined && { upload }),
  };
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/**
 * The contract's files carry the schemas of the whole API, which the browser never reads: it takes the server's
 * word. Each is run once at build time and bundled as the plain values it exports.
 */
export function contractAsData(): Plugin {
  return {
    name: 'contract-as-data',
    enforce: 'pre',
    async load(id) {
      if (!CONTRACT_FILE.test(id)) return null;
      const source = await readFile(id, 'utf8');
      const isTable = id.endsWith('/contract/index.ts');
      if (!isTable && !source.includes("from 'typebox'")) return null;
      const { module } = await runnerImport<Record<string, unknown>>(id, {
        configFile: false,
        logLevel: 'error',
      });
      if (isTable) {
        const table = module.operations as Record<string, Record<string, unknown>>;
        const rows = Object.entries(table).map(([name, row]) => [name, callable(row)]);
        return `export const operations = ${JSON.stringify(Object.fromEntries(rows))};`;
      }
      return Object.entries(module)
        .filter(([, value]) => isPlain(value))
        .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
        .join('\n');
    },
  };
}
