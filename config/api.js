import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/**
 * Writes the API reference from the sources: docs/api.md lists every public name, and docs/api/ has a page per entry with each name's
 * signature, docstring and members. An entry names each of its exports, and each name is followed to its declaration. A signature may name
 * types that no entry exports; their sections follow. Comments such as `// Tools: docs/tools.md` in an entry's file group its names.
 * Members and types with the tag `@internal` are left out.
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
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`Expected ${relative(root, file)} to be TypeScript: ${errors[0].message}`)
  const module = { file, text, comments, body: program.body, declared: new Map(), elsewhere: new Map(program.body.flatMap(placesIn(file))) }
  modules.set(file, module)
  for (const statement of program.body) {
    for (const { name, kind, node } of declarationsIn(statement)) {
      module.declared.set(name, [...(module.declared.get(name) ?? []), { kind, node, start: statement.start }])
    }
  }
  return module
}

/** The names that a statement imports or exports, each with the file and the name to continue with. Names of other packages are left out. */
const placesIn =
  (file) =>
  ({ source, specifiers = [] }) => {
    if (source && !source.value.startsWith('.')) return []
    const from = source ? resolve(dirname(file), source.value) : file
    return specifiers
      .filter(({ type }) => type === 'ImportSpecifier' || type === 'ExportSpecifier')
      .map(({ local, imported, exported }) => [(exported ?? local).name, { file: from, name: (imported ?? local).name }])
      .filter(([name, place]) => place.file !== file || place.name !== name)
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

/** The declarations that a name in a file's code means. Undefined for a type parameter, a global, and a name of another package. */
function declarationsOf(file, name) {
  const module = moduleAt(file)
  const nodes = module.declared.get(name)
  if (nodes !== undefined) return { module, nodes }
  const elsewhere = module.elsewhere.get(name)
  return elsewhere && declarationsOf(elsewhere.file, elsewhere.name)
}

/** The name under which an entry exports what `name` means in a module's code. Undefined if no entry does. */
const publicNameOf = ({ file }, name) => publicNames.get(declarationsOf(file, name)?.nodes[0].node)

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

/**
 * A piece of source as a caller sees it: with public names, without modifiers that don't matter to a caller, and without the indentation
 * that it has in its file.
 */
function signatureOf(module, { start, end }, params = []) {
  const { text } = module
  const indent = /[ \t]*$/.exec(text.slice(text.lastIndexOf('\n', start) + 1, start))[0]
  const edits = params.map((param) => ({ ...param, text: parameterOf(module, param) })).filter((edit) => edit.end <= end)
  const pieces = edits.map((edit, at) => text.slice(at === 0 ? start : edits[at - 1].end, edit.start) + edit.text)
  const code = [...pieces, text.slice(edits.at(-1)?.end ?? start, end)].join('').replaceAll(`\n${indent}`, '\n').trim()
  return code
    .replace(/^(?:export |declare |async |override |public )+/, '')
    .replace(/^((?:protected |static )+)(?:async |override )+/, '$1')
    .replace(/[;,]$/, '')
    .replace(/\b[A-Z]\w*/g, (name) => publicNameOf(module, name) ?? name)
}

/** A parameter without its destructuring, and without a default that is code. */
function parameterOf({ text }, param) {
  const given = param.type === 'AssignmentPattern' ? param.left : param
  const type = given.typeAnnotation && text.slice(given.typeAnnotation.start, given.typeAnnotation.end)
  const isPlain = given.type !== 'ObjectPattern' && (given === param || param.right.type === 'Literal')
  if (isPlain || !type) return text.slice(param.start, param.end)
  return `${given.type === 'ObjectPattern' ? nameFor(type) : given.name}${given === param ? '' : '?'}${type}`
}

/** A name for a parameter that is destructured, by its type. */
function nameFor(type) {
  const [, first, rest] = /^: ([A-Z])(\w*)$/.exec(type) ?? []
  return first === undefined || rest.endsWith('Options') ? 'options' : first.toLowerCase() + rest
}

const functionOf = (node) => (node.type === 'MethodDefinition' || node.type === 'TSAbstractMethodDefinition' ? node.value : node)

/** A declaration, or a member of one, without the body of a function or a class. */
function headOf(module, node, start = node.start) {
  const { body, params } = functionOf(node)
  return signatureOf(module, { start, end: body?.start ?? node.end }, params)
}

/** The signature of a whole declaration. */
function declarationHead(module, { kind, node, start }) {
  return kind === 'const' || kind === 'let' ? `${kind} ${signatureOf(module, node.id)}` : headOf(module, node, start)
}

/** What a class or an interface extends. */
const extendedBy = ({ superClass, superTypeArguments, extends: bases = [] }) =>
  superClass ? [{ expression: superClass, end: (superTypeArguments ?? superClass).end }] : bases

/** The names in a piece of a module's code that mean something there. */
const namesIn = (module, code) => [...new Set(code.match(/\b[A-Z]\w*/g))].filter((name) => declarationsOf(module.file, name) !== undefined)

/** The names in what a class or an interface extends or implements. */
const namesInBases = (module, bases) => namesIn(module, bases.map(({ expression: { start }, end }) => module.text.slice(start, end)).join())

/** The members of a class or interface that callers and subclasses may use. */
function ownMembers(module, node) {
  if (node.type !== 'ClassDeclaration' && node.type !== 'TSInterfaceDeclaration') return []
  const members = node.body.body.filter(isShown).map((member) => {
    const name = member.kind === 'constructor' ? `new ${node.id.name}` : module.text.slice(member.key?.start, member.key?.end)
    return { module, name, signature: memberSignature(module, member, node.id.name), doc: docBefore(module, member.start) }
  })
  return members.filter(({ doc }) => !isInternal(doc))
}

const isInternal = (doc) => doc.includes('@internal')

/** The members of a class or interface, and of those of its bases that no entry exports. */
function allMembers(module, node) {
  const own = ownMembers(module, node)
  const inherited = internalBases(module, node).flatMap((base) => base.nodes.flatMap((one) => allMembers(base.module, one.node)))
  return [...inherited.filter(({ name }) => !own.some((member) => member.name === name)), ...own]
}

const internalBases = (module, node) =>
  extendedBy(node).flatMap(({ expression: { name } }) => (publicNameOf(module, name) ? [] : (declarationsOf(module.file, name) ?? [])))

/** Members, with a link for each that has no docstring: to the public class or interface that describes it. */
function withLinks(module, node, members) {
  const described = namesInBases(module, [...extendedBy(node), ...(node.implements ?? [])]).map((base) => {
    const found = declarationsOf(module.file, base)
    const names = found.nodes.flatMap((one) => allMembers(found.module, one.node)).flatMap(({ name, doc }) => (doc === '' ? [] : [name]))
    return { base: publicNameOf(module, base), names }
  })
  return members.map((member) => {
    const { base } = described.find(({ base, names }) => base !== undefined && names.includes(member.name)) ?? {}
    return member.doc === '' && base !== undefined ? { ...member, doc: `See {@link ${base}.${member.name}}.` } : member
  })
}

/** Whether a member is public, and not the implementation of overloads, which TypeScript hides from callers. */
function isShown(member, _at, all) {
  if (member.type === 'StaticBlock' || member.key?.type === 'PrivateIdentifier' || member.accessibility === 'private') return false
  return !member.value?.body || !all.some((other) => isOverload(other) && other.key.name === member.key.name)
}

const isOverload = ({ value }) => value?.type === 'TSEmptyBodyFunctionExpression'

function memberSignature(module, member, className) {
  if (member.kind === 'constructor') return headOf(module, member).replace(/^(?:protected )?constructor/, `new ${className}`)
  if (member.type !== 'PropertyDefinition') return headOf(module, member)
  return signatureOf(module, { start: member.start, end: (member.typeAnnotation ?? member.value ?? member.key).end })
}

const fenced = (code, indent = '') => `\`\`\`ts\n${code}\n\`\`\``.replaceAll(/^(?=.)/gm, indent)

function writeMember({ name, signature, doc }) {
  const inline = !signature.includes('\n') && signature.length <= 110
  const head = inline ? `- ${inlineCode(signature)}` : `- \`${name}\`\n${fenced(signature, '  ')}`
  return doc === '' ? head : `${head}${inline ? '\\' : ''}\n${doc.replaceAll(/^(?=.)/gm, '  ')}`
}

const inlineCode = (code) => (code.includes('`') ? `\`\` ${code} \`\`` : `\`${code}\``)

/** The section of a public name: its signatures, its docstring and its members. `described` has the other types that the page describes. */
function writeName({ name, module, nodes, doc }, described) {
  const overloaded = nodes.some(({ node }) => node.type === 'TSDeclareFunction')
  const shown = nodes.filter(({ node }) => !(overloaded && node.type === 'FunctionDeclaration'))
  const heads = shown.map((one) => ({ module, signature: declarationHead(module, one) }))
  const members = shown.flatMap(({ node }) => withLinks(module, node, allMembers(module, node)))
  const bases = shown.flatMap(({ node }) => extendedBy(node))
  const extended = namesInBases(module, bases).flatMap((base) => publicNameOf(module, base) ?? [])
  const note = extended.length === 0 ? '' : `Extends ${extended.map((base) => `{@link ${base}}`).join(', ')}.`
  const inlined = new Set(shown.flatMap(({ node }) => internalBases(module, node).map(({ nodes: [base] }) => base.node)))
  const parts = [...writeParts(heads, described, inlined), ...writeParts(members, described)]
  return [writeSection(`### ${name}`, heads, doc, note, members), ...parts].join('\n\n')
}

function writeSection(heading, heads, doc, note, members) {
  const parts = [heading, fenced(heads.map(({ signature }) => signature).join('\n')), doc, note, members.map(writeMember).join('\n')]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Sections of the types in some signatures that no entry exports, except those in `inlined`. Each is written once a page. */
function writeParts(signatures, described, inlined = new Set()) {
  return signatures.flatMap(({ module, signature }) =>
    namesIn(module, signature.replace(/'[^'\n]*'|\/\*.*?\*\//gs, '')).flatMap((name) => {
      const { module: inside, nodes } = declarationsOf(module.file, name)
      const [{ node }] = nodes
      const doc = docOfAll({ module: inside, nodes })
      if (publicNames.has(node) || described.has(node) || inlined.has(node) || !isPart(node) || isInternal(doc)) return []
      described.add(node)
      const heads = [{ module: inside, signature: declarationHead(inside, nodes[0]) }]
      const members = withLinks(inside, node, ownMembers(inside, node))
      const section = writeSection(`#### ${node.id.name}`, heads, doc, '', members)
      return [section, ...writeParts([...heads, ...members], described)]
    }),
  )
}

/** Whether a type has a section if no entry exports it: the shape of a value, and not what computes a type from others. */
const isPart = ({ type, typeAnnotation }) =>
  type === 'TSInterfaceDeclaration' || (type === 'TSTypeAliasDeclaration' && !/Conditional|Mapped/.test(typeAnnotation.type))

/** The docstring of the first declaration that has one. */
function docOfAll({ module, nodes }) {
  return nodes.map(({ start }) => docBefore(module, start)).find((found) => found !== '') ?? ''
}

/** A public name, with its declarations and its docstring. */
function publicName(file, name) {
  const found = declarationsOf(file, name)
  if (found === undefined) throw new Error(`Expected ${relative(root, file)} to export \`${name}\` from a file of the package`)
  const doc = docOfAll(found)
  return { ...found, name, kind: found.nodes[0].kind, doc, summary: summaryOf(doc) }
}

/** Every name that a statement of an entry's file exports. */
function exportedBy(file, statement) {
  if (statement.type === 'ExportAllDeclaration') throw new Error(`Expected ${relative(root, file)} to name each export, got \`export *\``)
  if (statement.type !== 'ExportNamedDeclaration') return []
  const declared = statement.declaration ? declarationsIn(statement).map(({ name }) => name) : []
  if (statement.declaration && declared.length === 0) {
    throw new Error(`Expected ${relative(root, file)} to export classes, functions, constants or types, got ${statement.declaration.type}`)
  }
  return [...declared, ...statement.specifiers.map(({ exported }) => exported.name)].map((name) => publicName(file, name))
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
  const [first] = moduleAt(file).comments
  const [, purpose] = (first?.start === 0 && /^`[^`]+`: (.+)$/s.exec(docOf(first.value))) || []
  if (purpose === undefined)
    throw new Error(`Expected ${relative(root, file)} to begin with a comment that names the entry and its purpose`)
  return `${purpose[0].toUpperCase()}${purpose.slice(1)}\n\n`
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
  const described = new Set()
  const sections = groups.map(({ title, page, names }) => {
    const head = title === undefined ? [] : [`## ${title}`, `Guide: [${titleOf(page)}](../${page})`]
    return [...head, ...names.map((one) => writeName(one, described))].join('\n\n')
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
/** The name of each declaration that an entry exports. */
const publicNames = new Map(
  entries.flatMap(({ groups }) => groups.flatMap(({ names }) => names.flatMap(({ name, nodes }) => nodes.map(({ node }) => [node, name])))),
)

/** Every page, by its path in docs/. */
function write() {
  const pages = entries.map((entry) => ({ ...entry, text: writeEntry(entry) }))
  const anchors = new Map(pages.map(({ page, text }) => [page, anchorsOf(text)]))
  const list = pages.map(({ entry, file, page, groups }) => {
    return `## ${entry}\n\n${purposeOf(file)}${groups.map((group) => writeGroup(group, page, anchors.get(page))).join('\n')}`
  })
  const head = `Every name that the package exports, grouped by entry and by purpose. Each name links to its signature, its members and its whole
docstring. \`npm run docs:api\` writes these pages from the sources.`
  const linked = ({ page, text }) =>
    text.replace(/\{@link ((\w+)[^}]*)\}/g, (_, label, name) => `[\`${label}\`](${placeOf(name, page, anchors)})`)
  return new Map([['api.md', `# API reference\n\n${head}\n\n${list.join('\n')}`], ...pages.map((one) => [`api/${one.page}`, linked(one)])])
}

/** Where a link leads: to the name on the same page, or else on the first page that has it. */
function placeOf(name, page, anchors) {
  const target = anchors.get(page).has(name) ? page : [...anchors].find(([, own]) => own.has(name))?.[0]
  if (target === undefined) throw new Error(`Expected \`{@link ${name}}\` to name what an entry exports`)
  return `${target === page ? '' : target}#${anchors.get(target).get(name)}`
}

const written = write()
if (process.argv.includes('--check')) {
  const stored = ['api.md', ...readdirSync(join(root, 'docs/api')).map((page) => `api/${page}`)]
  for (const page of new Set([...stored, ...written.keys()])) {
    const lines = stored.includes(page) ? readFileSync(join(root, 'docs', page), 'utf8').split('\n') : []
    const wanted = written.get(page)?.split('\n') ?? []
    if (lines.join('\n') === wanted.join('\n')) continue
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
