/** A kind of files: what it is called, and the names its files have. */
export interface Kind {
  /** Stands before `files`: `TypeScript`, `test`, `.proto`. */
  label: string
  /** Stands behind `files` instead, when there is no label: `named package.json`. */
  after?: string
  /** Patterns of the file's name, of letters and `*` alone; a file is of this kind when one of them fits. */
  globs: readonly string[]
}

const languages = `
TypeScript = typescript typescripts: ts tsx mts cts
JavaScript = javascript javascripts ecmascript: js jsx mjs cjs
Python = python: py pyi
Rust = rust: rs
Go = go golang: go
Java = java: java
Kotlin = kotlin: kt kts
Swift = swift: swift
Scala = scala: scala sc
C = c: c h
C++ = c++ cpp cplusplus: cpp cc cxx hpp hh hxx
C# = c# csharp: cs
F# = f# fsharp: fs fsx
Ruby = ruby: rb
PHP = php: php
Perl = perl: pl pm
Lua = lua: lua
Dart = dart: dart
Elixir = elixir: ex exs
Haskell = haskell: hs
Zig = zig: zig
Clojure = clojure: clj cljs cljc
Shell = shell bash: sh bash zsh
PowerShell = powershell: ps1
SQL = sql: sql
Vue = vue: vue
Svelte = svelte: svelte`

const formats = `
Markdown = markdown: md mdx markdown
JSON = json jsons: json
YAML = yaml: yaml yml
TOML = toml: toml
XML = xml: xml
HTML = html: html htm
CSS = css: css
SCSS = scss sass: scss sass
stylesheet = stylesheet stylesheets style styles: css scss sass less
CSV = csv: csv tsv
GraphQL = graphql: graphql gql
Protobuf = protobuf: proto
PDF = pdf pdfs: pdf
text = text: txt
log = log logs: log
image = image images picture pictures photo photos: png jpg jpeg gif svg webp avif bmp ico tif tiff
video = video videos: mp4 mov webm mkv avi
audio = audio sound sounds: mp3 wav ogg flac m4a
font = font fonts: woff woff2 ttf otf
archive = archive archives: zip tar gz tgz bz2 xz 7z`

/** Kinds whose name is a noun of its own: `how many images` needs no `files`. */
const nouns = new Set(
  'images pictures photos tests specs videos pdfs stylesheets fonts archives logs sounds jsons typescripts javascripts'.split(' '),
)

/** Endings that may stand before `files` without a dot, besides those of the kinds above. */
const otherEndings =
  'rst adoc env ini cfg conf lock map snap tex bib ipynb wasm bin dat db sqlite gradle cmake mk bat cmd diff patch tf hcl jinja hbs ejs pug astro less styl coffee r jl nim ml mli erl vb asm s o so dll exe jar war class bak tmp key pem crt cert csr pub jsonl ndjson jsonc json5 parquet avro psd ai sketch eps doc docx xls xlsx ppt pptx odt rtf epub toml ics vtt srt d'

const named = new Map<string, Kind>()
const endings = new Set<string>(otherEndings.split(' '))
const sourceGlobs: string[] = []
for (const [table, isLanguage] of [
  [languages, true],
  [formats, false],
] as const) {
  for (const line of table.trim().split('\n')) {
    const [, label = '', words = '', list = ''] = /^(.+?) = (.+): (.+)$/.exec(line) ?? []
    const globs = list.split(' ').map((ending) => `*.${ending}`)
    for (const word of words.split(' ')) named.set(word, { label, globs })
    for (const ending of list.split(' ')) endings.add(ending)
    if (isLanguage) sourceGlobs.push(...globs)
  }
}
const source: Kind = { label: 'source', globs: sourceGlobs }
for (const word of ['source', 'sources', 'code']) named.set(word, source)

const testStems = ['*.test', '*.spec', '*_test', '*_spec', 'test_*']
const tests: Kind = { label: 'test', globs: testStems.map((stem) => `${stem}.*`) }
for (const word of ['test', 'tests', 'spec', 'specs', 'testing']) named.set(word, tests)

/** The kind a word names: `typescript`, `tests`, `images`. */
export function kindOfWord(word: string): Kind | undefined {
  return named.get(word) ?? named.get(word.replace(/s$/, ''))
}

/** True for words that mean files by themselves: `tests`, `images`. */
export function isKindNoun(word: string): boolean {
  return nouns.has(word)
}

/** True for words such as `src` would be: short, and known as the ending of files. */
export function isKnownEnding(word: string): boolean {
  return endings.has(word)
}

/** `.proto`, `test.ts`: files whose name ends so. */
export function kindOfEnding(ending: string): Kind {
  const bare = ending.replace(/^[.*]+/, '')
  const suffix = /^[\w-]+(\.[\w-]+)*$/.test(bare) && /^[^.*]/.test(ending) && /[_-]/.test(ending.charAt(0)) ? `*${bare}` : `*.${bare}`
  return {
    label: suffix.startsWith('*.') ? `.${bare}` : '',
    globs: [suffix],
    ...(suffix.startsWith('*.') ? {} : { after: `ending in ${bare}` }),
  }
}

/** Files whose name fits a pattern the user wrote. */
export function kindOfGlob(glob: string): Kind {
  const plain = /^\*(\.[\w.-]+)$/.exec(glob)?.[1]
  return plain === undefined ? { label: '', after: `matching ${glob}`, globs: [glob] } : { label: plain, globs: [glob] }
}

/** The one file name, taken literally. */
export function kindOfName(name: string): Kind {
  return { label: '', after: `named ${name}`, globs: [name.replace(/[\\*?[\]{}()!+@|^$]/g, '\\$&')] }
}

/** `TypeScript test files`, `Python files named foo*`: both at once. Undefined when that can't be said with names alone. */
export function bothKinds(a: Kind, b: Kind): Kind | undefined {
  if (a === b) return a
  const [open, closed] = a.globs.every(isOpen) ? [a, b] : [b, a]
  if (!open.globs.every(isOpen) || !closed.globs.every((glob) => glob.startsWith('*.'))) return undefined
  const globs = open.globs.flatMap((glob) => closed.globs.map((ending) => glob.slice(0, -2) + ending.slice(1)))
  return { label: `${closed.label} ${open.label}`.trim(), globs, ...(open.after === undefined ? {} : { after: open.after }) }
}

/** Leaves the ending open: `test_*.*`. */
function isOpen(glob: string): boolean {
  return glob.endsWith('.*')
}

/** One glob for files of any of these kinds; undefined for all files. */
export function globOf(kinds: readonly Kind[]): string | undefined {
  const globs = [...new Set(kinds.flatMap((kind) => kind.globs))]
  if (globs.length === 0) return undefined
  // `{*.test,test_*}.{ts,tsx}` rather than all combinations: names with the same endings share one pair of braces.
  const endingsOf = gather(globs.filter(splits), (glob) => [glob.slice(0, glob.lastIndexOf('.')), glob.slice(glob.lastIndexOf('.') + 1)])
  const stemsOf = gather([...endingsOf], ([stem, list]) => [braced(list), stem])
  const parts = [...stemsOf].map(([list, stems]) => `${braced(stems)}.${list}`)
  return braced([...parts, ...globs.filter((glob) => !splits(glob))])
}

/** Whether a glob is a stem and an ending, both plain. */
function splits(glob: string): boolean {
  return /^[^{}\\[\]/]+\.[^{}\\[\]/]+$/.test(glob)
}

/** The values of all items that have the same key. */
function gather<T>(items: readonly T[], read: (item: T) => [string, string]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const item of items) {
    const [key, value] = read(item)
    groups.set(key, [...(groups.get(key) ?? []), value])
  }
  return groups
}

function braced(list: readonly string[]): string {
  return list.length === 1 ? (list[0] ?? '') : `{${list.join(',')}}`
}

/** Whether a file is of this kind, for files that are already listed. Patterns with braces or sets fit nothing here. */
export function isOfKind(path: string, kind: Kind): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return kind.globs.some((glob) => {
    const parts = glob.split('*').map((part) => part.replace(/\\(.)/g, '$1'))
    const [first = '', ...rest] = parts
    if (rest.length === 0) return name === first
    if (!name.startsWith(first)) return false
    const last = rest.pop() ?? ''
    let at = first.length
    for (const part of rest) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return name.length - last.length >= at && name.endsWith(last)
  })
}

/** `TypeScript files`, `test or image file`, `files named a.ts`. */
export function describeKinds(kinds: readonly Kind[], one: boolean, noun = 'file'): string {
  const file = one ? noun : `${noun}s`
  const labels = kinds.map((kind) => kind.label).filter((label) => label !== '')
  const afters = kinds.flatMap((kind) => kind.after ?? [])
  return [either(labels), file, either(afters)].filter((part) => part !== '').join(' ')
}

function either(list: readonly string[]): string {
  return list.length < 2 ? (list[0] ?? '') : `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`
}
