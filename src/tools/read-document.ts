import type { Document, YAMLError } from 'yaml'
import { giveWay } from '../core/time/give-way.ts'

/** A key, a value, a colon, an indentation, a comment, the end of a line: one each. Some 6,000 lines, which are read in a good time. */
const maxTokens = 40_000
/** Levels of a text that is read. A configuration has far less; with thousands of them, reading takes for ever. */
const maxDepth = 200

/**
 * Reads a text as one YAML document, in time that grows with its length alone; others get their turn in between. Rejects with the first
 * `YAMLError`, at its line and column. A tag that nobody knows is one too, as whoever wrote it meant something by it, unless it is told to
 * pass over what is only a warning.
 */
export async function readDocument(text: string, { passOverWarnings = false }: { passOverWarnings?: boolean } = {}): Promise<Document> {
  const { Composer, isScalar, Lexer, Parser, visit, YAMLError: AnyError, YAMLParseError } = await import('../core/yaml.ts')
  const fail = (at: number, code: 'IMPOSSIBLE' | 'MULTIPLE_DOCS' | 'DUPLICATE_KEY', message: string) =>
    new YAMLParseError([at, at + 1], code, message)
  const parser = new Parser()
  // The package's own check for doubled keys compares each key with all before it. Keys that are texts make that cheap.
  const composer = new Composer({ uniqueKeys: false, stringKeys: true })
  const documents: Document.Parsed[] = []
  try {
    let tokens = 0
    for (const token of new Lexer().lex(text)) {
      tokens++
      if (tokens > maxTokens)
        throw fail(parser.offset, 'IMPOSSIBLE', `More than ${maxTokens} tokens (keys, values, punctuation, line ends)`)
      for (const part of parser.next(token)) documents.push(...withoutStacks(() => [...composer.next(part)]))
      if (parser.stack.length > maxDepth) throw fail(parser.offset, 'IMPOSSIBLE', `Nested deeper than ${maxDepth} levels`)
      if (tokens % 256 === 0) await giveWay()
    }
    for (const part of parser.end()) {
      documents.push(...withoutStacks(() => [...composer.next(part)]))
    }
    documents.push(...withoutStacks(() => [...composer.end(true, text.length)]))
    const [document, second] = documents
    const [error] = documents.flatMap(({ errors, warnings }) => [...errors, ...(passOverWarnings ? [] : warnings)])
    if (error !== undefined) throw error
    if (document === undefined || second !== undefined)
      throw fail(second?.range[0] ?? 0, 'MULTIPLE_DOCS', 'Expected one document, got several')
    visit(document, {
      Map(_, { items }) {
        const known = new Set<unknown>()
        for (const { key } of items) {
          if (!isScalar(key)) continue
          if (known.has(key.value)) throw fail(key.range?.[0] ?? 0, 'DUPLICATE_KEY', 'Map keys must be unique')
          known.add(key.value)
        }
      },
    })
    return document
  } catch (error) {
    if (error instanceof AnyError) locate(error, text)
    throw error
  }
}

/** A text may have thousands of faults, and most of the time they take is spent on where in the reader's code each was found. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function locate(error: YAMLError, text: string): void {
  const before = text.slice(0, Math.max(0, error.pos[0]))
  const line = before.split('\n').length
  const col = before.length - before.lastIndexOf('\n')
  error.linePos = [{ line, col }]
  error.message += ` at line ${line}, column ${col}`
}
