import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/**
 * Writes the API reference from the sources: docs/api.md lists every public name, and docs/api/ has a page per entry with each name's
 * signature, docstring and members. An entry names each of its exports (`export *` is a lint error), and each name is followed to its
 * declaration. Comments such as `// Tools: docs/tools.md` in an entry's file group its names.
 *
 * - `node config/api.js` writes the pages.
 * - `node config/api.js --check` fails, with the lines that differ, if a page is out of date.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const { name: packageName, exports: packageExports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const modules = new Map()

/** A source file: its text, comments and statements, the nodes that declare each name, and the place each other name comes from. */
function moduleAt(file) {
  if (modules.has(file)) return modules.get(file)
  const text = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file, text)
  const module = { file, text, comments, body: program.body, declared: new Map(), elsewhere: new Map() }
  modules.set(file, module)
  for (const statement of program.body) {
    const from = statement.source?.value
    for (const { local, imported, exported } of from === undefined ? [] : (statement.specifiers ?? [])) {
      if (from.startsWith('.'))
        module.elsewhere.set((exported ?? local).name, { file: resolve(dirname(file), from), name: (imported ?? local).name })
    }
    for (const { name, kind, node } of declarationsIn(statement)) {
      module.declared.set(name, [...(module.declared.get(name) ?? []), { kind, node, start: statement.start }])
    }
  }
  return module
}

const kinds = {
  ClassDeclaration: 'class',
  FunctionDeclaration: 'function',
  TSDeclareFunction: 'function',
  TSInterfaceDeclaration: 'type',
  TSTypeAliasDeclaration: 'type',
}

function declarationsIn(statement) {
  const node = statement.declaration ?? statement
  if (node.type === 'VariableDeclaration') return node.declarations.map((one) => ({ name: one.id.name, kind: node.kind, node: one }))
  return node.type in kinds ? [{ name: node.id.name, kind: kinds[node.type], node }] : []
}

/** The declarations of a name that a module declares, imports or exports. */
function declarationsOf(file, name) {
  const module = moduleAt(file)
  const nodes = module.declared.get(name)
  if (nodes !== undefined) return { module, nodes }
  const elsewhere = module.elsewhere.get(name)
  if (elsewhere === undefined) throw new Error(`Expected ${relative(root, file)} to declare or to import \`${name}\``)
  return declarationsOf(elsewhere.file, elsewhere.name)
}

/** The docstring that ends right before `at`, as Markdown. Comments for maintainers may follow it. */
function docBefore({ text, comments }, at) {
  let end = at
  for (const comment of comments.filter(({ end }) => end <= at).reverse()) {
    if (text.slice(comment.end, end).trim() !== '') return ''
    if (comment.type === 'Block' && comment.value.startsWith('*')) return docOf(comment.value)
    end = comment.start
  }
  return ''
}

const docOf = (comment) =>
  comment
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
    .replace(/^@see /gm, 'See ')
    .replace(/^@deprecated /gm, '**Deprecated.** ')
    .replace(/\]\(docs\//g, '](../')
    .replace(/\]\((?=[A-Z]+\.md)/g, '](../../')

/** The first sentence of a docstring. */
function summaryOf(doc) {
  const text = doc.split(/\n\n|\n(?=- )/)[0].replaceAll('\n', ' ')
  return (/^.*?[.:?](?=\s+[A-Z`'"‘“*]|\s*$)/.exec(text)?.[0] ?? text).replace(/:$/, '.').replaceAll('|', '\\|')
}

/** A piece of source without modifiers that don't matter to a caller, and without the indentation that it has in its file. */
function signatureOf({ text }, { start, end }) {
  const indent = /[ \t]*$/.exec(text.slice(text.lastIndexOf('\n', start) + 1, start))[0]
  const code = text.slice(start, end).replaceAll(`\n${indent}`, '\n').trim()
  return code.replace(/^(?:export |declare |async |override |public )+/, '').replace(/[;,]$/, '')
}

const bodyStart = (node) => (node.body ?? node.value?.body)?.start ?? node.end

/** The signature of a whole declaration, without the bodies of functions and classes. */
function headOf(module, { kind, node, start }) {
  if (kind === 'const' || kind === 'let') return `${kind} ${signatureOf(module, node.id)}`
  return signatureOf(module, { start, end: bodyStart(node) })
}

/** The names of the class or the interfaces that a declaration extends. */
function basesOf(node) {
  const bases = node.superClass ? [node.superClass] : (node.extends ?? []).map(({ expression }) => expression)
  return bases.map(({ name }) => name)
}

/** The public members of a class or interface. */
function ownMembers(module, { type, id, body }) {
  if (type !== 'ClassDeclaration' && type !== 'TSInterfaceDeclaration') return []
  return body.body.filter(isShown).map((member) => ({
    name: member.kind === 'constructor' ? `new ${id.name}` : (member.key?.name ?? ''),
    signature: memberSignature(module, member, id.name),
    doc: docBefore(module, member.start),
  }))
}

/** The members of a class or interface, and of those of its bases that no entry exports. */
function allMembers(module, node) {
  const inherited = basesOf(node).flatMap((name) => {
    const base = internalOf(module, name)
    return base === undefined ? [] : base.nodes.flatMap((one) => allMembers(base.module, one.node))
  })
  return [...inherited, ...ownMembers(module, node)]
}

/** The declarations of a name that no entry exports. Undefined for a public name, a type parameter, or a name of another package. */
function internalOf(module, name) {
  if (publicNames.has(name) || !(module.declared.has(name) || module.elsewhere.has(name))) return undefined
  return declarationsOf(module.file, name)
}

/** Whether a member is public, and not the implementation of overloads, which TypeScript hides from callers. */
function isShown(member, _at, all) {
  if (member.type === 'StaticBlock' || member.key?.type === 'PrivateIdentifier' || member.accessibility === 'private') return false
  return !member.value?.body || !all.some((other) => isOverload(other) && other.key.name === member.key.name)
}

const isOverload = ({ value }) => value?.type === 'TSEmptyBodyFunctionExpression'

function memberSignature(module, member, className) {
  const end = member.type === 'PropertyDefinition' ? (member.typeAnnotation ?? member.key).end : bodyStart(member)
  const signature = signatureOf(module, { start: member.start, end })
  return member.kind === 'constructor' ? signature.replace(/^(?:protected )?constructor/, `new ${className}`) : signature
}

const fenced = (code, indent = '') => `\`\`\`ts\n${code}\n\`\`\``.replaceAll(/^(?=.)/gm, indent)

function writeMember({ name, signature, doc }) {
  const inline = !signature.includes('\n') && signature.length <= 110
  const head = inline ? `- \`${signature}\`` : `- \`${name}\`\n${fenced(signature, '  ')}`
  return doc === '' ? head : `${head}${inline ? '\\' : ''}\n${doc.replaceAll(/^(?=.)/gm, '  ')}`
}

/** The section of a public name: its signatures, its docstring and its members. `described` has the other types that the page describes. */
function writeName({ name, module, nodes, doc }, described) {
  const overloaded = nodes.some(({ node }) => node.type === 'TSDeclareFunction')
  const shown = nodes.filter(({ node }) => !(overloaded && node.type === 'FunctionDeclaration'))
  const members = shown.flatMap(({ node }) => allMembers(module, node))
  const parts = shown.flatMap(({ node }) => writeParts(module, combinedBy(node), described))
  return [writeSection(`### ${name}`, shown.map((one) => headOf(module, one)).join('\n'), doc, members), ...parts].join('\n\n')
}

function writeSection(heading, signature, doc, members) {
  return [heading, fenced(signature), doc, members.map(writeMember).join('\n')].filter((part) => part !== '').join('\n\n')
}

/** The names of the types that an alias combines. */
function combinedBy({ type, typeAnnotation }) {
  if (type !== 'TSTypeAliasDeclaration') return []
  return (typeAnnotation.types ?? [typeAnnotation]).map(({ typeName }) => typeName?.name)
}

/** Sections of the types that a public alias is made of and that no entry exports. Each is written once a page. */
function writeParts(module, names, described) {
  return names.flatMap((name) => {
    const part = internalOf(module, name)
    if (part === undefined || described.has(name)) return []
    described.add(name)
    const [first] = part.nodes
    const section = writeSection(`#### ${name}`, headOf(part.module, first), docOfAll(part), ownMembers(part.module, first.node))
    return [section, ...writeParts(part.module, [...basesOf(first.node), ...combinedBy(first.node)], described)]
  })
}

/** The docstring of the first declaration that has one. */
function docOfAll({ module, nodes }) {
  return nodes.map(({ start }) => docBefore(module, start)).find((found) => found !== '') ?? ''
}

/** A public name, with its declarations and its docstring. */
function publicName(file, inside, outside) {
  const found = declarationsOf(file, inside)
  const doc = docOfAll(found)
  return { ...found, name: outside, kind: found.nodes[0].kind, doc, summary: summaryOf(doc) }
}

/** Every name that a statement of an entry's file exports. */
function exportedBy(file, statement) {
  if (statement.type !== 'ExportNamedDeclaration') return []
  const declared = statement.declaration ? declarationsIn(statement).map(({ name }) => publicName(file, name, name)) : []
  return [...declared, ...statement.specifiers.map(({ exported }) => exportedName(file, statement, exported.name))]
}

function exportedName(file, { source, specifiers }, name) {
  const { local } = specifiers.find(({ exported }) => exported.name === name)
  return publicName(source === null ? file : resolve(dirname(file), source.value), local.name, name)
}

/** The names of an entry by purpose: values first, then types. */
function groupsOf(file) {
  const { body, comments } = moduleAt(file)
  const titles = comments.flatMap(({ value, start }) => {
    const [, title, page] = /^ (.+): docs\/(\S+)$/.exec(value) ?? []
    return title === undefined ? [] : [{ title, page, start }]
  })
  const isType = ({ kind }) => Number(kind === 'type')
  return [{ start: 0 }, ...titles]
    .map((group, at) => {
      const own = body.filter(({ start }) => start >= group.start && start < (titles[at]?.start ?? Number.POSITIVE_INFINITY))
      const names = new Map(own.flatMap((statement) => exportedBy(file, statement)).map((one) => [one.name, one]))
      return { ...group, names: [...names.values()].sort((a, b) => isType(a) - isType(b) || a.name.localeCompare(b.name, 'en')) }
    })
    .filter(({ names }) => names.length > 0)
}

/** The purpose of an entry, from the comment at the top of its file. */
function purposeOf(file) {
  const [, comment = ''] = /^\/\*\* (?:`[^`]+`: )?(.+) \*\/$/m.exec(moduleAt(file).text.split('\n', 1)[0]) ?? []
  return comment === '' ? '' : `${comment[0].toUpperCase()}${comment.slice(1)}\n\n`
}

const titleOf = (page) => /^# (.+)$/m.exec(readFileSync(join(root, 'docs', page), 'utf8'))[1]

/** The rows of a group in the list of all names. `anchors` has the names of the headings on the entry's page. */
function writeGroup({ title, page, names }, entryPage, anchors) {
  const head = title === undefined ? '' : `### ${title}\n\nGuide: [${titleOf(page)}](${page})\n\n`
  const rows = names.map(({ name, kind, summary }) => {
    return `| [\`${name}\`](api/${entryPage}#${anchors.get(name)}) | ${kind} | ${summary.replaceAll('](../', '](')} |`
  })
  return `${head}| name | kind | description |\n|---|---|---|\n${rows.join('\n')}\n`
}

function writeEntry({ entry, file, groups }) {
  const written = new Set()
  const sections = groups.map(({ title, page, names }) => {
    const head = title === undefined ? [] : [`## ${title}`, `Guide: [${titleOf(page)}](../${page})`]
    return [...head, ...names.map((one) => writeName(one, written))].join('\n\n')
  })
  return `# ${entry}\n\n${purposeOf(file)}${sections.join('\n\n')}\n`
}

/** The anchor of each name on a page. If two headings differ only in case, GitHub numbers the second. */
function anchorsOf(page) {
  const counts = new Map()
  const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-')
    const before = counts.get(slug) ?? 0
    counts.set(slug, before + 1)
    return [heading, before === 0 ? slug : `${slug}-${before}`]
  })
  return new Map(anchors)
}

const entries = Object.entries(packageExports)
  .filter(([path]) => !path.endsWith('.json'))
  .map(([path, { types }]) => {
    const file = join(root, types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))
    const entry = `${packageName}${path.slice(1)}`
    return { entry, file, page: `${entry.replaceAll('/', '-')}.md`, groups: groupsOf(file) }
  })
const publicNames = new Set(entries.flatMap(({ groups }) => groups.flatMap(({ names }) => names.map(({ name }) => name))))

/** Every page, by its path in docs/. */
function write() {
  const pages = entries.map((entry) => ({ ...entry, text: writeEntry(entry) }))
  const list = pages.map(({ entry, file, page, groups, text }) => {
    return `## ${entry}\n\n${purposeOf(file)}${groups.map((group) => writeGroup(group, page, anchorsOf(text))).join('\n')}`
  })
  const head = `Every name that the package exports, grouped by entry and by purpose. Each name links to its signature, its members and its whole
docstring. \`npm run docs:api\` writes these pages from the sources.`
  return new Map([['api.md', `# API reference\n\n${head}\n\n${list.join('\n')}`], ...pages.map(({ page, text }) => [`api/${page}`, text])])
}

const written = write()
if (process.argv.includes('--check')) {
  for (const [page, text] of written) {
    const lines = readFileSync(join(root, 'docs', page), 'utf8').split('\n')
    const wanted = text.split('\n')
    if (lines.join('\n') === text) continue
    const gone = lines.filter((line) => !wanted.includes(line)).map((line) => `- ${line}`)
    const missing = wanted.filter((line) => !lines.includes(line)).map((line) => `+ ${line}`)
    console.error(`docs/${page} is not up to date: run \`npm run docs:api\`\n${[...gone, ...missing].join('\n')}`)
    process.exitCode = 1
  }
} else {
  rmSync(join(root, 'docs/api'), { recursive: true, force: true })
  mkdirSync(join(root, 'docs/api'))
  for (const [page, text] of written) writeFileSync(join(root, 'docs', page), text)
}
