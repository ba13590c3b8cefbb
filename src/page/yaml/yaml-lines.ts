import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from 'yaml'

/** The first and last line of a value, including its key, counted from 0. */
interface Lines {
  from: number
  to: number
}

/** Maximum number of aliases to follow. Aliases of aliases may stand for very many values. */
const mostAliases = 1_000

/** Finds the lines of a YAML text, in any style, by JSON Pointer. If the text has errors, understands as much of it as possible. */
export class YamlLines {
  readonly #text: string
  readonly #document: Document
  /** How many more aliases may be followed. */
  #aliases = mostAliases

  constructor(text: string) {
    this.#text = text
    this.#document = parseDocument(text, { uniqueKeys: false, merge: true })
  }

  /**
   * Returns the first line of the value at a pointer. If there is no such value, returns the first line of the innermost existing value on
   * the path.
   */
  lineOf(pointer: string): number | undefined {
    let line: number | undefined
    const parts = partsOf(pointer)
    for (let length = 1; length <= parts.length; length++) {
      const [found] = this.#find(parts.slice(0, length))
      if (found === undefined) break
      line = found.from
    }
    return line
  }

  /**
   * Returns all lines of the values at a pointer. In the pointer, `*` matches any key. If a value is an alias, the lines of its anchor are
   * included.
   */
  linesOf(pointer: string): number[] {
    return this.#find(partsOf(pointer)).flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
  }

  keysOf(pointer: string): string[] {
    const node = this.#document.getIn(partsOf(pointer), true)
    const map = isAlias(node) ? this.#resolved(node) : node
    return isMap(map) ? map.items.map(({ key }) => nameOf(key)) : []
  }

  #find(parts: readonly string[]): Lines[] {
    this.#aliases = mostAliases
    return [...this.#findIn(this.#document.contents, parts)]
  }

  #resolved(node: unknown): unknown {
    return isAlias(node) && this.#aliases-- > 0 ? node.resolve(this.#document) : undefined
  }

  *#findIn(node: unknown, parts: readonly string[]): Iterable<Lines> {
    const [part, ...rest] = parts
    if (part === undefined) return
    if (isAlias(node)) yield* this.#findIn(this.#resolved(node), parts)
    else if (isMap(node)) {
      for (const pair of node.items) {
        const name = nameOf(pair.key)
        if (name === '<<') yield* this.#findInMerged(pair.value, parts)
        else if (part === '*' || name === part) {
          if (rest.length > 0) yield* this.#findIn(pair.value, rest)
          else yield* this.#linesOf(pair)
        }
      }
    } else if (isSeq(node)) {
      for (const [at, item] of node.items.entries()) {
        if (part !== '*' && String(at) !== part) continue
        if (rest.length > 0) yield* this.#findIn(item, rest)
        else yield* this.#linesBetween(item, item)
      }
    }
  }

  *#findInMerged(value: unknown, parts: readonly string[]): Iterable<Lines> {
    for (const one of isSeq(value) ? value.items : [value]) yield* this.#findIn(one, parts)
  }

  *#linesOf({ key, value }: Pair): Iterable<Lines> {
    yield* this.#linesBetween(key, value ?? key)
    const meant = this.#resolved(value)
    yield* this.#linesBetween(meant, meant)
  }

  *#linesBetween(first: unknown, last: unknown): Iterable<Lines> {
    const [start] = (first as Node | undefined)?.range ?? []
    const [begin = 0, end = 0] = (last as Node | undefined)?.range ?? []
    if (start === undefined) return
    // The range of a block includes the line breaks after it, so the end is trimmed.
    const within = this.#text.slice(0, Math.max(end, begin)).trimEnd()
    yield { from: this.#lineAt(start), to: Math.max(this.#lineAt(start), this.#lineAt(within.length)) }
  }

  #lineAt(offset: number): number {
    return this.#text.slice(0, offset).split('\n').length - 1
  }
}

function nameOf(key: unknown): string {
  const name = isScalar(key) ? key.value : key
  // The parser represents the key of merged mappings as a symbol.
  return typeof name === 'symbol' ? (name.description ?? '') : String(name)
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
