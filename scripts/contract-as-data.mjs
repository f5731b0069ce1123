// The contract without its schemas, for programs that take the server's word: the dashboard and the client.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const CONTRACT = fileURLToPath(new URL('../src/contract', import.meta.url));
const TABLE = 'index.ts';

/**
 * A plugin for rolldown and Vite. The contract's files carry the schemas of the whole API and the library they are
 * written in. Each is run once at build time and bundled as the plain values it exports.
 */
export function contractAsData() {
  let modules;
  return {
    name: 'contract-as-data',
    enforce: 'pre',
    async load(id) {
      if (!isInContract(id)) return null;
      const name = basename(id);
      if (name !== TABLE && !readFileSync(id, 'utf8').includes("from 'typebox'")) return null;
      modules ??= runContract();
      const exported = (await modules)[name];
      const values =
        name === TABLE
          ? [['operations', callable(exported.operations)]]
          : Object.entries(exported).filter(isPlain);
      return values.map(([key, value]) => `export const ${key} = ${JSON.stringify(value)};`).join('\n');
    },
  };
}

function isInContract(id) {
  return id.startsWith(CONTRACT) && id.endsWith('.ts');
}

/** Every file of the contract by its name, as Node would have loaded it if it read TypeScript. */
async function runContract() {
  const names = readdirSync(CONTRACT).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const build = await rolldown({
    input: 'every-file',
    platform: 'node',
    logLevel: 'warn',
    plugins: [
      {
        name: 'every-file',
        resolveId: (id) => (id === 'every-file' ? id : null),
        load: (id) =>
          id === 'every-file'
            ? names
                .map(
                  (name) =>
                    `export * as ${JSON.stringify(name)} from ${JSON.stringify(join(CONTRACT, name))};`,
                )
                .join('\n')
            : null,
      },
    ],
  });
  try {
    const { output } = await build.generate({ format: 'esm' });
    return await import(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
  } finally {
    await build.close();
  }
}

/** What a client needs of an operation; schemas, summaries and refusals stay on the server. */
function callable(operations) {
  const rows = Object.entries(operations).map(([name, { method, path, auth, body, upload }]) => [
    name,
    {
      method,
      path,
      auth,
      ...(body !== undefined && { body: true }),
      ...(upload !== undefined && { upload }),
    },
  ]);
  return Object.fromEntries(rows);
}

function isPlain([, value]) {
  return Array.isArray(value)
    ? value.every((item) => isPlain([null, item]))
    : ['string', 'number', 'boolean'].includes(typeof value);
}
