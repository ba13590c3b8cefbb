import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Writes docs/api.md: every public name of every entry of the package, its kind, and the first sentence of its docstring. It reads the
 * sources: an entry names each of its exports (`export *` is a lint error), and each name is followed to its declaration. Comments in an
 * entry's file group its names.
 *
 * - `node config/api.js` writes the page.
 * - `node config/api.js --check` fails, with the lines that differ, if the page is out of date.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'docs/api.md')
const sources = new Map()

function sourceOf(file) {
  if (!sources.has(file)) sources.set(file, readFileSync(file, 'utf8'))
  return sources.get(file)
}

/** The names in `{ a, type b, c as d }`, each as exported and as named in its own module. */
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

/** The first sentence of the docstring that ends right before `at`, skipping comments for maintainers. */
function summaryBefore(source, at) {
  const comment = /^[ ]*\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*(?:\/\/.*\s*)*$(?![\s\S])/m.exec(source.slice(0, at))?.[1]
  if (comment === undefined) return ''
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trim())
  const end = lines.findIndex((line, index) => index > 0 && (line === '' || line.startsWith('@')) && lines[index - 1] !== '')
  const text = lines
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
  return (/^.*?[.:?](?=\s+[A-Z`'"‘“]|\s*$)/.exec(text)?.[0] ?? text).replace(/:$/, '.').replaceAll('|', '\\|')
}

/** Every name that a part of an entry exports: values first, then types. */
function exportsOf(file, part) {
  const listed = [...part.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}(?:\s+from\s+'([^']+)')?/gm)].flatMap(([, list, from]) =>
    namesIn(list).map(({ inside, outside }) => ({
      name: outside,
      ...declarationOf(from === undefined ? file : resolve(dirname(file), from), inside),
    })),
  )
  const declared = [...part.matchAll(/^export (?:abstract |async )*(?:class|function\*?|const|interface|type) ([\w$]+)/gm)].map(
    ([, name]) => ({ name, ...declarationOf(file, name) }),
  )
  const isType = ({ kind }) => Number(kind === 'type')
  return [...listed, ...declared].sort((a, b) => isType(a) - isType(b) || a.name.localeCompare(b.name, 'en'))
}

/** The groups of an entry. A comment such as `// Tools: docs/tools.md` starts one. */
function groupsOf(file) {
  const [before, ...parts] = sourceOf(file).split(/^\/\/ (.+): docs\/(\S+)$/m)
  const groups = before.includes('\nexport ') ? [{ names: exportsOf(file, before) }] : []
  for (let at = 0; at < parts.length; at += 3) {
    groups.push({ title: parts[at], page: parts[at + 1], names: exportsOf(file, parts[at + 2]) })
  }
  return groups
}

const titleOf = (page) => /^# (.+)$/m.exec(sourceOf(join(root, 'docs', page)))[1]

function writeGroup({ title, page, names }) {
  const head = title === undefined ? '' : `### ${title}\n\nGuide: [${titleOf(page)}](${page})\n\n`
  const rows = names.map(({ name, kind, summary }) => `| \`${name}\` | ${kind} | ${summary} |`)
  return `${head}| name | kind | description |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** The purpose of an entry, from the comment at the top of its file. */
function purposeOf(file) {
  const [, comment = ''] = /^\/\*\* (?:`[^`]+`: )?(.+) \*\/$/m.exec(sourceOf(file).split('\n', 1)[0]) ?? []
  return comment === '' ? '' : `${comment[0].toUpperCase()}${comment.slice(1)}\n\n`
}

function write() {
  const { name, exports } = JSON.parse(sourceOf(join(root, 'package.json')))
  const entries = Object.entries(exports).filter(([entry]) => !entry.endsWith('.json'))
  const parts = entries.map(([entry, { types }]) => {
    const file = join(root, types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))
    return `## ${name}${entry.slice(1)}\n\n${purposeOf(file)}${groupsOf(file).map(writeGroup).join('\n')}`
  })
  return `# API reference

Every name that the package exports, grouped by entry and by purpose. Your editor shows the full docstring of each. \`npm run docs:api\` writes
this page from the sources.

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
