import { readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/**
 * Puts what `import 'toolloop'` loads at once into one file, `dist/bundle/index.js`: seventy small files cost three times as much to load. Every
 * other file stays where it is (`bundle/` is as deep as `models/`, from where `presets.ts` finds its presets), and those that went into the one file give out what is in it, so that each class is there once.
 */
const dist = fileURLToPath(new URL('../dist', import.meta.url))
const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.js') && !name.startsWith(`service${sep}page`),
)
const input = Object.fromEntries(files.map((name) => [name.slice(0, -'.js'.length), join(dist, name)]))
const external = (id) => !id.startsWith('.') && !id.startsWith('/')

/** The files that `entry` imports, and those import; not those that are loaded when they are needed. */
async function importedBy(entry) {
  const found = new Set()
  const bundle = await rolldown({
    input: entry,
    external,
    plugins: [{ name: 'list', moduleParsed: ({ id, importedIds }) => void found.add({ id, importedIds }) }],
  })
  await bundle.generate({ format: 'esm' })
  await bundle.close()
  const imports = new Map([...found].map(({ id, importedIds }) => [id, importedIds]))
  const reached = new Set()
  const reach = (id) => {
    if (reached.has(id) || !imports.has(id)) return
    reached.add(id)
    for (const imported of imports.get(id)) reach(imported)
  }
  reach(entry)
  return reached
}

const core = await importedBy(join(dist, 'index.js'))
const bundle = await rolldown({ input, external, platform: 'node', treeshake: false })
await bundle.write({
  dir: dist,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'bundle/[name].js',
  codeSplitting: { groups: [{ name: 'index', test: (id) => core.has(id) }] },
  minify: false,
})
await bundle.close()
console.log(`${core.size} of ${files.length} files are now ${relative(dist, join(dist, 'bundle/index.js'))}`)
