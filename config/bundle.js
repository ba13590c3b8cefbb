import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules, isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'
import { breakLines } from './break-lines.js'
import { bundlePage } from './bundle-page.js'
import { noticesOf } from './package-notices.js'

/**
 * Makes of the modules in `dist` what the package ships, because many small files take long to load and much room: what `import 'toolloop'`
 * loads at once in one file, the code of threads as a text inside the module that starts them, all else in as few files as the entries allow,
 * and declarations only of what the entries' own lead to.
 */
const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')
const { exports, bin, dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values(exports).filter((entry) => typeof entry === 'object')

const modules = filesIn(dist, '.js')
/** These find other files by their own place, so they stay there. */
const ownPlace = /new URL\([^\n]*import\.meta\.url\)|createRequire\(import\.meta\.url\)\(/
const inPlace = modules.filter((file) => ownPlace.test(readFileSync(file, 'utf8')) && !file.endsWith('-code.js'))
const started = [join(dist, 'tools/sandbox/vm/vm-worker.js')]
const inputs = [...entries.map((entry) => entry.default), ...Object.values(bin)].map((file) => join(root, file)).concat(started)
const nameOf = (file) => relative(dist, file).slice(0, -'.js'.length)

function filesIn(folder, ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
}

const installed = Object.keys({ ...dependencies, ...peerDependencies })
const isInstalled = (id) => isBuiltin(id) || installed.some((name) => id === name || id.startsWith(`${name}/`))

/** These packages are CommonJS that loads parts of Node.js, for which an ES module has no `require`: what is imported of them is in `packages`. */
const isCommonJs = (id) => /^(ajv|pino|undici)(?=-formats$|\/|$)/.exec(id)
const commonJs = new Map()
function fileOfCommonJs(id) {
  commonJs.set(id, join(dist, 'packages', `use-${id.replace(/\.js$/, '').replaceAll('/', '-')}.cjs`))
  return commonJs.get(id)
}

/** What is installed with the package stays an import, and so do CommonJS files. Of any other package, what is used becomes part of ours. */
const external = {
  name: 'external',
  resolveId: (id, importer) => {
    if (importer === undefined || importer.includes('/node_modules/')) return null
    if (id.endsWith('.cjs')) return { id: join(dirname(importer), id), external: 'relative' }
    if (isCommonJs(id)) return { id: fileOfCommonJs(id), external: 'relative' }
    return isInstalled(id) ? { id, external: true } : null
  },
}

/** `x-code.js` has the code of `x.js` in it. */
const threads = {
  name: 'threads',
  async load(id) {
    if (!id.endsWith('-code.js')) return null
    const [code] = await bundled({ input: id.replace('-code.js', '.js') }, { format: 'cjs', minify: true })
    return `export const workerCode = ${JSON.stringify(code.code)}`
  },
}

/** Builtins that packages require are imported instead. */
const plugins = [external, threads, esmExternalRequirePlugin({ external: [/^node:/, ...builtinModules] })]

async function bundled(input, output) {
  const bundle = await rolldown({ plugins, platform: 'node', cwd: root, ...input })
  const result = await bundle.generate({ ...output, postBanner: ({ moduleIds }) => noticesOf(moduleIds) })
  await bundle.close()
  return result.output
}

/** The modules that `entry` imports, and those import; not those that are loaded when they are needed. */
async function importedBy(entry) {
  const imports = new Map()
  const list = { name: 'list', moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds) }
  await bundled({ input: entry, plugins: [...plugins, list] }, { format: 'esm' })
  const reached = new Set()
  const reach = (id) => {
    if (reached.has(id) || !imports.has(id)) return
    reached.add(id)
    for (const imported of imports.get(id)) reach(imported)
  }
  reach(entry)
  return reached
}

/** The declarations that `entry` leads to. */
function declarationsOf(file, reached = new Set()) {
  if (reached.has(file)) return reached
  reached.add(file)
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\(|\bimport)\s*['"](\.[^'"]+)['"]/g)) {
    declarationsOf(join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')), reached)
  }
  return reached
}

const allNames = { function: true, class: true }
const core = await importedBy(join(dist, 'index.js'))
const output = await bundled(
  { input: Object.fromEntries(inputs.map((file) => [nameOf(file), file])) },
  {
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: ({ name }) => (name.includes('/') ? '[name].js' : 'chunks/[name].js'),
    codeSplitting: {
      groups: [
        { name: 'index', test: (id) => core.has(id) || id.includes('rolldown/runtime') },
        ...inPlace.map((file) => ({ name: nameOf(file), test: (id) => id === file })),
      ],
    },
    comments: { legal: true, annotation: true, jsdoc: false },
    // Lines and the names of functions stay: a stack trace has to say where it was.
    minify: { compress: { keepNames: allNames }, mangle: { keepNames: allNames } },
  },
)
for (const file of modules) rmSync(file)
for (const { fileName, code } of output) {
  mkdirSync(dirname(join(dist, fileName)), { recursive: true })
  writeFileSync(join(dist, fileName), breakLines(code))
}

const declared = new Set(entries.flatMap((entry) => [...declarationsOf(join(root, entry.types))]))
const unneeded = filesIn(dist, '.d.ts').filter((file) => !declared.has(file))
for (const file of unneeded) rmSync(file)

const src = join(root, 'src')
for (const file of filesIn(src, '.cjs')) copyCommonJs(file, join(dist, relative(src, file)))
await bundlePackages()
await bundlePage(join(src, 'service/page'), join(dist, 'service/page'))
removeEmptyFolders(dist)
console.log(`${modules.length} modules are now ${output.length} files, with the declarations of ${declared.size}`)

function copyCommonJs(from, to) {
  const code = readFileSync(from, 'utf8').replaceAll(/require\('([^']+)'\)/g, (whole, id) =>
    isCommonJs(id) ? `require('${relative(dirname(to), fileOfCommonJs(id))}')` : whole,
  )
  writeFileSync(to, code)
}

/** Each package is one file, with a function for each of its modules that is imported; and each of those is a file that calls it. */
async function bundlePackages() {
  mkdirSync(join(dist, 'packages'))
  for (const [name, ids] of Map.groupBy(commonJs.keys(), (id) => isCommonJs(id)?.[1])) {
    const modules = ids.map((id) => `exports[${JSON.stringify(id)}] = () => require(${JSON.stringify(id)})`).join('\n')
    const file = join(root, `${name}.cjs`)
    const entry = { name: 'entry', resolveId: (_, importer) => (importer ? null : file), load: (id) => (id === file ? modules : null) }
    const [{ code }] = await bundled({ input: name, plugins: [entry] }, { format: 'cjs', minify: true })
    writeFileSync(join(dist, 'packages', `${name}.cjs`), code)
    for (const id of ids) writeFileSync(commonJs.get(id), `module.exports = require('./${name}.cjs')[${JSON.stringify(id)}]()\n`)
  }
}

function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
