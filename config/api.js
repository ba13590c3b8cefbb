import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Writes docs/api.md: every public name of every entry of the package, its kind, and the first sentence of its docstring. It reads the
 * sources: an entry names each of its exports (`export *` is a lint error), and each name is followed to its declaration.
 *
 *   node config/api.js           writes the page
 *   node config/api.js --check   fails, with the lines that differ, if the page is not what it would write
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'docs/api.md')
const sources = new Map()

function sourceOf(file) {
  if (!sources.has(file)) sources.set(file, readFileSync(file, 'utf8'))
  return sources.get(file)
}

/** The names in `{ a, type b, c as d }`, each as it is called outside and as it is called in the module it comes from. */
function namesIn(list) {
  return list
    .split(',')
    .map((item) => item.trim().replace(/^type\s+/, ''))
    .filter((item) => item !== '')
    .map((item) => {
      const [inside, outside = inside] = item.split(/\s+as\s+/)
      return { inside, outside }
    })
}

const declaration = (name) =>
  new RegExp(
    `^(?:export )?(?:declare )?(?:abstract )?(?:async )?(class|function\\*?|const|let|interface|type) ${name.replace('$', '\\$')}\\b`,
    'm',
  )

/** The declaration of a name that a module exports or imports. */
function declarationOf(file, name) {
  const source = sourceOf(file)
  const found = declaration(name).exec(source)
  if (found !== null) return { kind: found[1].replace('interface', 'type').replace('*', ''), summary: summaryBefore(source, found.index) }
  for (const [, list, from] of source.matchAll(/^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'(\.[^']+)'/gm)) {
    const match = namesIn(list).find(({ outside }) => outside === name)
    if (match !== undefined) return declarationOf(resolve(dirname(file), from), match.inside)
  }
  throw new Error(`Expected ${relative(root, file)} to declare or to import \`${name}\``)
}

/** The first sentence of the docstring that ends right before `at`, comments for maintainers aside. */
function summaryBefore(source, at) {
  const comment = /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*(?:\/\/.*\s*)*$/.exec(source.slice(0, at))?.[1]
  if (comment === undefined) return ''
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trim())
  const end = lines.findIndex((line, index) => index > 0 && (line === '' || line.startsWith('@')) && lines[index - 1] !== '')
  const text = lines
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
  return (/^.*?[.:?](?=\s+[A-Z`'"‘“]|\s*$)/.exec(text)?.[0] ?? text).replace(/:$/, '.').replaceAll('|', '\\|')
}

/** Every name that an entry exports. */
function exportsOf(file) {
  const source = sourceOf(file)
  const listed = [...source.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}(?:\s+from\s+'([^']+)')?/gm)].flatMap(([, list, from]) =>
    namesIn(list).map(({ inside, outside }) => ({
      name: outside,
      ...declarationOf(from === undefined ? file : resolve(dirname(file), from), inside),
    })),
  )
  const declared = [...source.matchAll(/^export (?:abstract |async )*(?:class|function\*?|const|interface|type) ([\w$]+)/gm)].map(
    ([, name]) => ({ name, ...declarationOf(file, name) }),
  )
  return [...listed, ...declared].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function write() {
  const { name, exports } = JSON.parse(sourceOf(join(root, 'package.json')))
  const entries = Object.entries(exports).filter(([entry]) => !entry.endsWith('.json'))
  const parts = entries.map(([entry, { types }]) => {
    const file = join(root, types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))
    const rows = exportsOf(file).map(({ name, kind, summary }) => `| \`${name}\` | ${kind} | ${summary} |`)
    return `## ${name}${entry.slice(1)}\n\n| name | kind | what it is |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return `# Public names

Every name that the package exports, by entry. \`npm run docs:api\` writes this page from the sources; your editor shows the whole docstrings.

${parts.join('\n')}`
}

const written = write()
if (process.argv.includes('--check')) {
  const lines = readFileSync(page, 'utf8').split('\n')
  const wanted = written.split('\n')
  const gone = lines.filter((line) => !wanted.includes(line)).map((line) => `- ${line}`)
  const missing = wanted.filter((line) => !lines.includes(line)).map((line) => `+ ${line}`)
  if (lines.join('\n') !== written) {
    console.error(`docs/api.md is not up to date: run \`npm run docs:api\`\n${[...gone, ...missing].join('\n')}`)
    process.exitCode = 1
  }
} else writeFileSync(page, written)
