import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(`${root}/${file}`, 'utf8'))

/** Types whose members other packages call or define, or that repeat the members of a type that has the contract. */
const elsewhere = [
  /^(Counter|Histogram|Meter|Props|Span|TraceState|Tracer)\./,
  /^(NodeResponse|PostgresClient|RunnableAgent|SendableRun)\./,
  /^(AnyTool|BaseTool|Tool|ToolCallEnvironment|ToolOptions|AsToolOptions\.approval|AnthropicPipeline|CustomAgent\.history)\b/,
]

/** Whether the docstring of a callback, of the type that it is a member of, or of its own type says what its contract is. */
export function hasContract(callback: string): boolean {
  const [, type, member] = /^(\w+)\.(\w+)$/.exec(callback) ?? []
  if (type === undefined || elsewhere.some((names) => names.test(callback))) return true
  return declarationsOf(type).some(({ doc, body }) => {
    const [, own = '', itsType = ''] =
      new RegExp(`((?:${docstring})?)^  (?:[a-z]+ )*${member}\\??(?:\\(|<|: *(\\w+)?)`, 'm').exec(body) ?? []
    return [doc, own, ...declarationsOf(itsType).map((named) => named.doc)].some((text) => /\bContract\b/.test(text))
  })
}

const docstring = ' *\\/\\*\\*(?:(?!\\*\\/)[\\s\\S])*\\*\\/\\n'

/** The declarations of a type in all files. A name may be used in several. */
function declarationsOf(type: string): { doc: string; body: string }[] {
  const head = `((?:${docstring})?)^(?:export )?(?:abstract )?`
  const pattern = new RegExp(`${head}(?:(?:interface|class) ${type}\\b([\\s\\S]*?)^\\}|type ${type}\\b([\\s\\S]*?)\\n\\n)`, 'm')
  return (type === '' ? [] : sources).flatMap((text) => {
    const [found, doc = '', members = '', alias = ''] = pattern.exec(text) ?? []
    return found === undefined ? [] : [{ doc, body: members + alias }]
  })
}
