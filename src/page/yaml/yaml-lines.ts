import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from 'yaml'

/** From the first to the last line of a value, including its key; from 0. */
interface Lines {
  from: number
  to: number
}

/** How often an alias may lead to another one. */
const mostAliases = 20

/** The lines of a YAML text, in any style, by JSON Pointers. Understands texts that have errors as far as possible. */
export class YamlLines {
  readonly #text: string
  readonly #document: Document

  constructor(text: string) {
    this.#text = text
    this.#document = parseDocument(text, { uniqueKeys: false, merge: true })
  }

  /** The first line of a value, or of its innermost part that is there. */
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

  /** All lines of the values at a pointer, in which `*` stands for any key. Includes values that an alias stands for. */
  linesOf(pointer: string): number[] {
    return this.#find(partsOf(pointer)).flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
  }

  /** The keys of a mapping. */
  keysOf(pointer: string): string[] {
    const node = this.#document.getIn(partsOf(pointer), true)
    const map = isAlias(node) ? node.resolve(this.#document) : node
    return isMap(map) ? map.items.map(({ key }) => nameOf(key)) : []
  }

  #find(parts: readonly string[]): Lines[] {
    return [...this.#findIn(this.#document.contents, parts, mostAliases)]
  }

  *#findIn(node: unknown, parts: readonly string[], aliases: number): Iterable<Lines> {
    const [part, ...rest] = parts
    if (part === undefined || aliases === 0) return
    if (isAlias(node)) yield* this.#findIn(node.resolve(this.#document), parts, aliases - 1)
    else if (isMap(node)) {
      for (const pair of node.items) {
        const name = nameOf(pair.key)
        if (name === '<<') yield* this.#findInMerged(pair.value, parts, aliases - 1)
        else if (part === '*' || name === part) {
          if (rest.length > 0) yield* this.#findIn(pair.value, rest, aliases)
          else yield* this.#linesOf(pair, aliases)
        }
      }
    } else if (isSeq(node)) {
      for (const [at, item] of node.items.entries()) {
        if (part !== '*' && String(at) !== part) continue
        if (rest.length > 0) yield* this.#findIn(item, rest, aliases)
        else yield* this.#linesBetween(item, item)
      }
    }
  }

  *#findInMerged(value: unknown, parts: readonly string[], aliases: number): Iterable<Lines> {
    for (const one of isSeq(value) ? value.items : [value]) yield* this.#findIn(one, parts, aliases)
  }

  *#linesOf({ key, value }: Pair, aliases: number): Iterable<Lines> {
    yield* this.#linesBetween(key, value ?? key)
    const meant = isAlias(value) && aliases > 0 ? value.resolve(this.#document) : undefined
    yield* this.#linesBetween(meant, meant)
  }

  *#linesBetween(first: unknown, last: unknown): Iterable<Lines> {
    const [start] = (first as Node | undefined)?.range ?? []
    const [begin = 0, end = 0] = (last as Node | undefined)?.range ?? []
    if (start === undefined) return
    // A block ends behind its last line.
    const within = this.#text.slice(0, Math.max(end, begin)).trimEnd()
    yield { from: this.#lineAt(start), to: Math.max(this.#lineAt(start), this.#lineAt(within.length)) }
  }

  #lineAt(offset: number): number {
    return this.#text.slice(0, offset).split('\n').length - 1
  }
}

function nameOf(key: unknown): string {
  const name = isScalar(key) ? key.value : key
  // The key of merged mappings is a symbol.
  return typeof name === 'symbol' ? (name.description ?? '') : String(name)
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
