import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AgentRunner, createLogger, createModel } from 'toolloop'

/**
 * Checks the built package as users get it. Every entry can be imported. Its types need no optional package except its own, and no newer
 * `lib` than ES2022. Optional fields accept `undefined`. Inferred types can be named by an entry. The entry for browsers stands alone. A
 * run answers, the logger writes, and the files beside the code are found.
 */
const root = new URL('../', import.meta.url)
const { exports, peerDependenciesMeta } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
/** The entries for an optional package. */
const about = {
  './backends': /langchain/,
  './mcp': /^@modelcontextprotocol/,
  './models/google': /^@google/,
  './openapi': /^@apidevtools/,
  './telemetry': /^@opentelemetry/,
}

/** The packages that the types of a module need, directly or indirectly. */
function packagesOf(url, seen = new Set()) {
  if (seen.has(url.href)) return []
  seen.add(url.href)
  const specifiers = [...readFileSync(url, 'utf8').matchAll(/(?:\bfrom|\bimport\()\s*['"]([^'"]+)['"]/g)].map(([, specifier]) => specifier)
  return specifiers.flatMap((specifier) =>
    specifier.startsWith('.') ? packagesOf(new URL(specifier.replace(/\.[jt]s$/, '.d.ts'), url), seen) : [specifier],
  )
}

/** The option types that an entry exports, by name. */
function optionTypesOf(entry) {
  const text = readFileSync(new URL(exports[entry].types, root), 'utf8')
  const named = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list]) => list.split(','))
  const names = named.map((name) =>
    name
      .trim()
      .split(/^type | as /)
      .at(-1),
  )
  return names.filter((name) => /^[A-Z]\w*(?:Options|Settings|Limits|Config|Hooks|Guardrail|ModelRequest|Sampling)$/.test(name))
}

/** A program that also checks the types of its libraries, and passes `undefined` for each optional field. */
function programOf(entry, number) {
  const types = optionTypesOf(entry)
  const checks = types.map(
    (name) =>
      `export const ${name}${number}: Refused<entry${number}.${name}${name === 'ToolOptions' ? '<object, unknown, unknown>' : ''}> = []\n`,
  )
  return `import type * as entry${number} from 'toolloop${entry.slice(1)}'\n${checks.join('')}`
}

const refused = `type Refused<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? ({ [P in K]: undefined } extends Pick<T, K> ? never : K) : never }[keyof T] extends never
  ? []
  : ['an optional field that does not take undefined']
`

/** Inside `dist`, where the package is found by its name. `lib` and `types`: further settings of the program. */
function checkTypes(checked, ...given) {
  const program = new URL('dist/check-entries.ts', root)
  writeFileSync(program, refused + checked.map(programOf).join(''))
  const options = [
    ...['--target', 'es2022', '--module', 'nodenext', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'],
    ...given,
  ]
  try {
    execFileSync('npx', ['tsc', '--ignoreConfig', '--noEmit', ...options, fileURLToPath(program)], { cwd: root, stdio: 'inherit' })
  } finally {
    rmSync(program)
  }
}

/** A module whose exports have inferred types. A declaration file can name each of them by an entry of the package. */
const inferred = `import { AgentRunner, Budget, createLogger, createModel, defineTool, memorySessions } from 'toolloop'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
export const weather = defineTool({ name: 'weather', description: '', parameters, effect: 'read', execute: ({ city }) => ({ city }) })
export const runner = new AgentRunner({ model: createModel('demo'), tools: [weather], logger: createLogger() })
export const logger = createLogger()
export const left = new Budget({ tokens: 5 }).left
export const calls = async () => (await runner.run('')).toolCalls
export const stream = () => runner.stream('')
export const active = () => runner.active
export const listed = () => runner.runs.list()
export const recorded = () => runner.runs.get('')
export const recovered = () => runner.recover()
export const sessions = () => memorySessions().list()
`

/** Where the package is found as users install it, outside its own folder. */
function checkInferredTypes() {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-entries-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(fileURLToPath(root), join(folder, 'node_modules/toolloop'), 'junction')
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'app.ts'), inferred)
    const options = ['--target', 'es2022', '--module', 'nodenext', '--strict', '--preserveSymlinks', '--skipLibCheck', '--declaration']
    const outDir = ['--emitDeclarationOnly', '--outDir', join(folder, 'out')]
    execFileSync('npx', ['tsc', '--ignoreConfig', ...options, ...outDir, join(folder, 'app.ts')], {
      cwd: fileURLToPath(root),
      stdio: 'inherit',
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'))
const optional = Object.keys(peerDependenciesMeta)
for (const entry of entries) {
  await import(`toolloop${entry.slice(1)}`)
  const needed = packagesOf(new URL(exports[entry].types, root)).filter((name) =>
    optional.some((peer) => `${name}/`.startsWith(`${peer}/`)),
  )
  const foreign = needed.filter((name) => !about[entry]?.test(name))
  if (foreign.length > 0) throw new Error(`Expected the types of \`${entry}\` to need no optional package, got ${foreign.join(', ')}`)
}
const view = readFileSync(new URL(exports['./view'].default, root), 'utf8')
if (/^import |\bimport\(|\brequire\(|\bprocess\b/m.test(view)) throw new Error('Expected `./view` to stand alone, as browsers load it')
checkTypes(entries, '--lib', 'es2022', '--types', 'node')
// The declarations of the SDK behind `./mcp` need the types of Node.js.
checkTypes(
  entries.filter((entry) => entry !== './mcp'),
  '--types',
  '',
)
checkInferredTypes()
createModel({ provider: 'deepseek', model: 'deepseek-flash', apiKey: 'none' })
const { stopReason, output } = await new AgentRunner({ model: 'demo' }).run('How much is 6 * 7?')
if (stopReason !== 'answered') throw new Error(`Expected the built package to answer, got ${stopReason}: ${output}`)
let logged = ''
createLogger({ destination: { write: (line) => (logged += line) } }).warn({ apiKey: 'secret' }, 'written')
if (JSON.parse(logged).msg !== 'written') throw new Error(`Expected a record of the logger, got ${logged}`)
console.log(`${entries.length} entries of the package import, with their types, and a run answers`)
