import { frame, type Phrase, type Token } from './phrase.ts'

/** Files, or folders, of some kind in one place. */
export interface FileSet extends Kind {
  /** Relative to the workspace; `.` is all of it. */
  folder: string
  isFolders: boolean
}

interface Kind {
  /** As it is said before `files`: `TypeScript`, `.proto`. */
  label: string
  /** Of their names; none: any. */
  endings: readonly string[]
  isTests: boolean
}

export const everything: FileSet = { folder: '.', label: '', endings: [], isTests: false, isFolders: false }

const languages = `TypeScript: typescript | ts tsx mts cts; JavaScript: javascript | js jsx mjs cjs; Python: python | py pyi; Rust: rust | rs
  Go: golang go | go; Java: java | java; Kotlin: kotlin | kt kts; Swift: swift | swift; C: c | c h; C++: cplusplus | cpp cc cxx hpp
  C#: csharp | cs; Ruby: ruby | rb; PHP: php | php; Shell: shell bash | sh bash; SQL: sql | sql; Vue: vue | vue`
const formats = `Markdown: markdown | md mdx markdown; JSON: json | json; YAML: yaml | yaml yml; TOML: toml | toml; XML: xml | xml
  HTML: html | html htm; CSS: css | css; CSV: csv | csv; text: text | txt; image: image images pictures | png jpg jpeg gif svg webp avif`

const kinds = new Map<string, Kind>()
function addKinds(table: string): string[] {
  return table.split(/;|\n/).flatMap((entry) => {
    const [label = '', words = '', list = ''] = entry.split(/[:|]/).map((part) => part.trim())
    const endings = list.split(' ')
    for (const ending of endings) kinds.set(ending, { label: `.${ending}`, endings: [ending], isTests: false })
    for (const word of words.split(' ')) kinds.set(word, { label, endings, isTests: false })
    return endings
  })
}
const source: Kind = { label: 'source', endings: addKinds(languages), isTests: false }
addKinds(formats)
kinds.set('source', source).set('code', source)
for (const word of ['test', 'tests', 'spec', 'specs']) kinds.set(word, { label: 'test', endings: [], isTests: true })

function kindOf({ form, raw }: Token): Kind | undefined {
  const ending = form === '<file>' || form === '<glob>' ? /^\*?\.([\w.]+)$/.exec(raw)?.[1] : undefined
  return ending === undefined ? kinds.get(form) : { label: `.${ending}`, endings: [ending], isTests: false }
}

const link = '(?:is|are|be|do|did|has|have|we|you|exist|that|which|contains?|contained|located|stored|total|see)'
const kindWord = `(?:${[...kinds.keys()].join('|')}|<glob>|<file>)`
const kindNoun = /^(tests|specs|images|pictures)$/
const folderNoun = /^((sub)?folders?|director(y|ies)|dirs)$/
const parts = {
  those: frame('(?:of )?(?:them|those|these|ones?)|of'),
  links: frame(`${link}(?: ${link})*`),
  kinds: frame(`${kindWord}(?: (?:and |or )?${kindWord})*`),
  noun: frame(`files?|${folderNoun.source.slice(1, -1)}`),
  place: frame(
    '(?:in|under|inside|within|below|of|from|for|at|does|do) (?:folder |directory |this |my |our |whole )*\\S+(?: folder| directory)?(?: have)?',
  ),
}

/**
 * Reads `TypeScript files are in src`, `tests in src/a`, `folders does src have`: all of the phrase or nothing. What names no noun, such as
 * `in tests` or `of those are tests`, needs `before`, the set that was spoken of, and differs from it in what it says; with `isLoose` it may
 * do without either: `TypeScript in src`.
 */
export function readSet(phrase: Phrase, before?: FileSet, isLoose = false): FileSet | undefined {
  if (phrase.tokens.length === 0 || phrase.tokens.length > 20) return undefined
  let rest = phrase
  const take = (part: RegExp): Phrase | undefined => {
    for (let count = rest.tokens.length; count > 0; count--) {
      const head = rest.slice(0, count)
      if (!part.test(head.text)) continue
      rest = rest.slice(count)
      return head
    }
    return undefined
  }
  const refersBack = /\S/.test(take(parts.those)?.text.replace(/^of$/, '') ?? '')
  take(parts.links)
  const kindWords = take(parts.kinds)
  const noun = take(parts.noun)
  take(parts.those)
  take(parts.links)
  const place = take(parts.place)
  take(parts.links)
  const kind = kindWords && joinKinds(kindWords)
  const folder = place && readPlace(place)
  if (rest.tokens.length > 0 || (kindWords && !kind) || (place && folder === undefined)) return undefined
  const isFolders = noun !== undefined && folderNoun.test(noun.text)
  const standsAlone = noun !== undefined || kindNoun.test(kindWords?.tokens.at(-1)?.form ?? '')
  if ((isFolders && kind) || (before === undefined && (refersBack || !(standsAlone || isLoose)))) return undefined
  const base = before !== undefined && (refersBack || !standsAlone || kindNoun.test(phrase.text)) ? before : { ...everything, isFolders }
  return { ...base, ...kind, ...(folder === undefined ? {} : { folder }) }
}

/** `TypeScript test`, `ts or js`; undefined for what is no single pattern. */
function joinKinds(phrase: Phrase): Kind | undefined {
  const found = phrase.tokens.flatMap((token) => kindOf(token) ?? [])
  const isEither = / (and|or) /.test(phrase.text)
  const isTests = found.some((kind) => kind.isTests)
  const lists = found.flatMap(({ endings }) => (endings.length > 0 ? [endings] : []))
  const endings = isEither ? lists.flat() : lists.reduce((both, list) => both.filter((ending) => list.includes(ending)), lists[0] ?? [])
  if (
    found.length < phrase.text.replace(/ (and|or) /g, ' ').split(' ').length ||
    (isEither && isTests) ||
    (lists.length > 0 && endings.length === 0)
  )
    return undefined
  return { label: found.map(({ label }) => label).join(isEither ? ' or ' : ' '), endings, isTests }
}

const placePattern = frame('\\S+ (?:folder |directory |this |my |our |whole )*(?<name>\\S+?)(?: folder| directory)?(?: have)?')
const wholeProject = /^(project|repo|repository|workspace|codebase|code|package|folder|directory|it|total|this|that)$/

/** The folder of `in src`, `under the tests folder`, `in this project`, `does src have`. */
export function readPlace(phrase: Phrase): string | undefined {
  if (!parts.place.test(phrase.text)) return undefined
  const [token] = phrase.match(placePattern)?.name?.tokens ?? []
  return token && (wholeProject.test(token.form) ? '.' : folderOf(token))
}

/** A folder's name; words that are grammar, and kinds that no folder is named after, are none. */
function folderOf({ form, raw }: Token): string | undefined {
  const isGrammar = new RegExp(`^${link}$`).test(form) || (kinds.has(form) && !/^(tests?|specs?|images|source|html|css|json)$/.test(form))
  if (!raw.includes('/') && form !== '<text>' && (isGrammar || !/^[\p{L}_][\w-]*$/u.test(raw))) return undefined
  return raw.replace(/^\.\/(?=.)/, '').replace(/(?<=.)\/+$/, '')
}

const project = frame('(?:(?:this|my|whole|current) )*(?:project|repo|repository|workspace|codebase|folder|directory)')
const usualFolder = frame('<path>|src|lib|tests?|docs?|config|scripts|examples|packages|dist|bin|app|public|\\S+ (?:folder|directory)')

/** A folder that is named without `in`: a path, a word that is a folder's name nearly everywhere, `the x folder`, `this project`. */
export function readBareFolder(phrase: Phrase): string | undefined {
  if (project.test(phrase.text)) return '.'
  const [token] = phrase.tokens
  return token && usualFolder.test(phrase.text) ? folderOf(token) : undefined
}

/** The glob of a set; undefined for all files. */
export function globOf({ endings, isTests }: FileSet): string | undefined {
  const stem = isTests ? '{*.test,*.spec,*_test,*_spec,test_*}' : '*'
  if (endings.length === 0) return isTests ? `${stem}.*` : undefined
  return `${stem}.${endings.length === 1 ? endings[0] : `{${endings.join(',')}}`}`
}

/** `4 TypeScript files in src`, `no folders in this project`. */
export function describeSet({ label, folder, isFolders }: FileSet, count: number): string {
  const noun = `${label} ${isFolders ? 'folder' : 'file'}${count === 1 ? '' : 's'}`.trim()
  return `${count === 0 ? 'no' : count} ${noun} ${placeOf(folder)}`
}

export function placeOf(folder: string): string {
  return folder === '.' ? 'in this project' : `in ${folder}`
}
