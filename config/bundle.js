import { cpSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { bundlePage, noticesOf, reachedFrom } from './bundle-page.js'
import { withoutNodeTypes, withUndefined } from './declarations.js'

/**
 * Bundles the modules in `dist`, because many small files load slowly and take much space. What `import 'toolloop'` loads at once becomes
 * one file. Code of threads becomes a text inside the module that starts them. The rest becomes as few files as the entries allow. Only
 * declarations that an entry's own declarations need are kept, and their optional fields accept `undefined`.
 */
const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values(exports).filter((entry) => typeof entry === 'object')

const modules = filesIn(dist, '.js')
/** These modules find other files relative to their own path, so they are not moved. */
const ownPlace = /new URL\([^\n]*import\.meta\.url\)|createRequire\(import\.meta\.url\)\(/
const inPlace = modules.filter((file) => ownPlace.test(readFileSync(file, 'utf8')) && !file.endsWith('-code.js'))
/** Browsers load it too, so it must not share code with the others, which need Node.js. */
const forBrowsers = join(dist, 'core/runs/index.js')
const inputs = [...entries.map((entry) => entry.default), ...Object.values(bin)]
  .map((file) => join(root, file))
  .filter((file) => file !== forBrowsers)
const nameOf = (file) => relative(dist, file).slice(0, -'.js'.length)

function filesIn(folder, ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
}

/** Packages and CommonJS files, whose `require` must stay visible to the bundlers of applications. */
const external = {
  name: 'external',
  resolveId: (id, importer) =>
    id.endsWith('.cjs') ? { id: join(dirname(importer), id), external: 'relative' } : /^[./]/.test(id) ? null : { id, external: true },
}

/**
 * `x-code.js` contains the code of `x.js` and of the packages it needs, because a thread that is started from a text can't find packages.
 */
const threads = {
  name: 'threads',
  async load(id) {
    if (!id.endsWith('-code.js')) return null
    const input = { input: id.replace('-code.js', '.js'), plugins: [] }
    const [code] = await bundled(input, { format: 'cjs', minify: true, postBanner: noticesOf })
    return `export const workerCode = ${JSON.stringify(code.code)}`
  },
}

async function bundled(input, output) {
  const bundle = await rolldown({ plugins: [external, threads], platform: 'node', ...input })
  const result = await bundle.generate(output)
  await bundle.close()
  return result.output
}

/** The modules that `entry` imports, directly or indirectly, without dynamic imports. */
async function importedBy(entry) {
  const imports = new Map()
  const list = { name: 'list', moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds) }
  await bundled({ input: entry, plugins: [external, threads, list] }, { format: 'esm' })
  return reachedFrom(entry, imports)
}

/** The declarations that `entry` needs. */
function declarationsOf(file, reached = new Set()) {
  if (reached.has(file)) return reached
  reached.add(file)
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\(|\bimport)\s*['"](\.[^'"]+)['"]/g)) {
    declarationsOf(join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')), reached)
  }
  return reached
}

const core = await importedBy(join(dist, 'index.js'))
const comments = { legal: true, annotation: true, jsdoc: false }
const alone = await bundled({ input: { [nameOf(forBrowsers)]: forBrowsers }, platform: 'browser' }, { dir: dist, format: 'esm', comments })
const output = await bundled(
  { input: Object.fromEntries(inputs.map((file) => [nameOf(file), file])) },
  {
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: ({ name }) => (name.includes('/') ? '[name].js' : 'chunks/[name].js'),
    codeSplitting: {
      groups: [
        { name: 'index', test: (id) => core.has(id) },
        ...inPlace.map((file) => ({ name: nameOf(file), test: (id) => id === file })),
      ],
    },
    comments,
  },
)
for (const file of modules) rmSync(file)
for (const { fileName, code } of [...alone, ...output]) {
  mkdirSync(dirname(join(dist, fileName)), { recursive: true })
  writeFileSync(join(dist, fileName), code)
}

const declared = new Set(entries.flatMap((entry) => [...declarationsOf(join(root, entry.types))]))
const unneeded = filesIn(dist, '.d.ts').filter((file) => !declared.has(file))
for (const file of unneeded) for (const name of [file, `${file}.map`]) rmSync(name)

for (const file of declared) {
  const { text, map } = withoutNodeTypes(withUndefined(readFileSync(file, 'utf8')), readFileSync(`${file}.map`, 'utf8'))
  writeFileSync(file, text)
  writeFileSync(`${file}.map`, map)
}

const src = join(root, 'src')
for (const file of filesIn(src, '.cjs')) cpSync(file, join(dist, relative(src, file)))
await bundlePage(join(src, 'page'), join(dist, 'service/page'))
removeEmptyFolders(dist)
console.log(`${modules.length} modules are now ${alone.length + output.length} files, with the declarations of ${declared.size}`)

function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
