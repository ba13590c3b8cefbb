import type { Document, YAMLError } from 'yaml'
import { giveWay } from '../core/time/give-way.ts'

/**
 * Maximum number of tokens in a document. Each key, value, colon, indentation, comment and line end is one token. This allows about 6,000
 * lines.
 */
const maxTokens = 40_000
/** Maximum nesting depth. A configuration has far fewer levels, and thousands of levels would take too long to read. */
const maxDepth = 200

/**
 * Parses a text as a single YAML document in linear time, and yields to the event loop while parsing. Rejects with the first `YAMLError`,
 * with its line and column. Unknown tags are errors too, because ignoring a tag could change the meaning. With `passOverWarnings`, unknown
 * tags are ignored.
 */
export async function readDocument(text: string, { passOverWarnings = false }: { passOverWarnings?: boolean } = {}): Promise<Document> {
  const { Composer, isScalar, Lexer, Parser, visit, YAMLError: AnyError, YAMLParseError } = await import('../core/yaml.ts')
  const fail = (at: number, code: 'IMPOSSIBLE' | 'MULTIPLE_DOCS' | 'DUPLICATE_KEY', message: string) =>
    new YAMLParseError([at, at + 1], code, message)
  const parser = new Parser()
  // The package's own check for duplicate keys compares each key with all earlier keys. A cheaper check is possible because all keys are
  // strings.
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

/** Runs work without capturing stack traces. A text may have thousands of errors, and capturing a trace for each takes most of the time. */
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
