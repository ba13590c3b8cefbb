import { toToolSet } from '../agent/options.ts'
import { checkOptions, integer, milliseconds, names, type OptionChecks, optionsOf } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { searchParameters, ToolIndex } from '../tools/deferred-tools.ts'
import { type ToolSet, ToolView } from '../tools/registry.ts'
import { type AnyTool, convertToOpenAITool, defineTool, type ToolDefinition } from '../tools/tool.ts'
import { declareTool, declareTools } from './declarations.ts'
import { executeScript, showResult } from './run-script.ts'
import { ScriptTools } from './script-tools.ts'

/** The limits of one script. */
export interface ScriptLimits {
  /** Maximum size of the script's code, in bytes. Default 65,536. */
  scriptBytes?: number
  /** Maximum computing time of the script, in milliseconds. Time spent waiting for calls does not count. Default 5,000. */
  timeoutMs?: number
  /** Maximum memory of the script's VM, in bytes. Default 64 MiB. */
  memoryBytes?: number
  /**
   * Maximum size of the return value, in bytes. The same limit applies to the printed output and to the arguments of each call. Default 1
   * MiB.
   */
  outputBytes?: number
  /** Maximum number of calls that the script may make. Default 100. */
  calls?: number
}

/** Options of `codeMode`: the tools that a script can call, and the limits of each script. */
export interface CodeModeOptions {
  /**
   * Names of tools that the model calls directly, not from scripts. Tools that end the run or hand the conversation over are always called
   * directly. Default: none.
   */
  keep?: Iterable<string>
  /** The limits of one script. */
  limits?: ScriptLimits
  /**
   * Maximum length of the tool declarations in the definition of `run_script`, in characters. If the declarations are longer, they are left
   * out, and scripts search for tools instead. Default 3,000.
   */
  declaredCharacters?: number
}

const limitChecks: OptionChecks<ScriptLimits> = {
  scriptBytes: integer(1),
  timeoutMs: milliseconds,
  memoryBytes: integer(4 * 1024 * 1024),
  outputBytes: integer(1),
  calls: integer(0),
}

const optionChecks: OptionChecks<CodeModeOptions> = {
  keep: names,
  limits: optionsOf(limitChecks, '`codeMode`'),
  declaredCharacters: integer(0),
}

const defaultLimits: Required<ScriptLimits> = {
  scriptBytes: 65_536,
  timeoutMs: 5_000,
  memoryBytes: 64 * 1024 * 1024,
  outputBytes: 1024 * 1024,
  calls: 100,
}

export const scriptTool = 'run_script'
const searchName = 'search_tools'
/** Maximum number of tools that one search returns. */
const mostFound = 8

/**
 * Replaces a set of tools with one tool, `run_script`. The model writes a script that calls the tools, and gets what the script returns.
 *
 * A call in a script is validated, approved, limited, recorded and reported like any other. When a run continues after a pause or a crash,
 * the script starts again, and its earlier calls return their recorded results. Throws `invalid_option` for invalid options, and if a tool
 * is named `run_script` or `search_tools`.
 *
 * ```ts
 * const runner = new AgentRunner({ model, tools: codeMode(tools, { keep: ['search'] }) })
 * ```
 */
export function codeMode(tools: readonly AnyTool[] | ToolSet, options: CodeModeOptions = {}): ToolSet {
  checkOptions(options, optionChecks, '`codeMode`')
  const { keep = [], limits = {}, declaredCharacters = 3_000 } = options
  const set = toToolSet(tools)
  for (const name of [scriptTool, searchName]) {
    if (set.get(name) !== undefined) throw new InvalidOptionError('tools', `a set without a tool \`${name}\``, name)
  }
  return new CodeModeTools(set, new Set(keep), { ...defaultLimits, ...limits }, declaredCharacters)
}

class CodeModeTools implements ToolSet {
  readonly #tools: ToolSet
  readonly #keep: ReadonlySet<string>
  readonly #limits: Required<ScriptLimits>
  readonly #mostDeclared: number
  #from: readonly ToolDefinition[] | undefined
  #specs: readonly ToolDefinition[] = []
  #script: AnyTool | undefined
  #index = new ToolIndex([])

  constructor(tools: ToolSet, keep: ReadonlySet<string>, limits: Required<ScriptLimits>, mostDeclared: number) {
    this.#tools = tools
    this.#keep = keep
    this.#limits = limits
    this.#mostDeclared = mostDeclared
  }

  get size(): number {
    return this.getAllSpecs().length
  }

  get(name: string): AnyTool | undefined {
    if (name !== scriptTool) return this.#tools.get(name)
    this.getAllSpecs()
    return this.#script
  }

  names(): string[] {
    return this.getAllSpecs().map(({ function: { name } }) => name)
  }

  list(): AnyTool[] {
    return this.names().flatMap((name) => this.get(name) ?? [])
  }

  hidden(): string[] {
    return [...this.#tools.names().filter((name) => !this.#isKept(name)), ...(this.#tools.hidden?.() ?? [])]
  }

  opened(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined {
    return this.#tools.opened?.(call)
  }

  getAllSpecs(): readonly ToolDefinition[] {
    const from = this.#tools.getAllSpecs()
    if (from !== this.#from) {
      this.#from = from
      const scripted = from.filter(({ function: { name } }) => !this.#isKept(name))
      this.#script = this.#scriptTool(scripted)
      this.#specs = Object.freeze([...from.filter(({ function: { name } }) => this.#isKept(name)), convertToOpenAITool(this.#script)])
    }
    return this.#specs
  }

  settled(): Promise<void> | undefined {
    return this.#tools.settled?.()
  }

  /** Whether the model calls the tool directly instead of from scripts. */
  #isKept(name: string): boolean {
    const tool = this.#tools.get(name)
    return this.#keep.has(name) || tool?.final === true || (tool !== undefined && 'handsTo' in tool)
  }

  #scriptTool(scripted: readonly ToolDefinition[]): AnyTool {
    const tools = scripted.flatMap(({ function: { name } }) => this.#tools.get(name) ?? [])
    const declared = declareTools(tools, this.#mostDeclared)
    this.#index = new ToolIndex(scripted)
    const search = declared === undefined ? [this.#searchTool()] : []
    const runs = { tools: new ScriptTools(new ToolView(this.#tools, { only: tools.map(({ name }) => name), also: search })) }
    const { scriptBytes, ...limits } = this.#limits
    const tool = defineTool({
      name: scriptTool,
      description: howTo,
      parameters: {
        type: 'object',
        // This text belongs to the parameter instead of the tool's description, because some APIs refuse a description of more than 1,024
        // characters.
        properties: { code: { type: 'string', description: `The body of an async function.\n\n${declared ?? toSearch(tools.length)}` } },
        required: ['code'],
        additionalProperties: false,
      },
      // A repeated script does not repeat its calls: their results are recorded.
      effect: 'idempotent',
      parallel: false,
      timeoutMs: Number.POSITIVE_INFINITY,
      execute: ({ code }, ctx) => executeScript({ name: scriptTool, code, tools: runs.tools, scriptBytes, limits }, ctx),
      toContent: showResult,
    })
    return Object.assign(tool, { runs })
  }

  #searchTool(): AnyTool {
    return defineTool({
      name: searchName,
      description: 'Finds tools by what they do, and declares them.',
      parameters: searchParameters,
      effect: 'read',
      execute: ({ query }) => {
        const { found, more } = this.#index.find(query, mostFound)
        return { tools: found.flatMap(({ name }) => declareTool(this.#tools.get(name)) ?? []), more }
      },
    })
  }
}

const howTo = `Runs a script in JavaScript that calls tools, and gives you what it returns. Write one script for all the calls that a task needs, with \
loops, conditions and filters, instead of one call after another.

\`await tools.NAME(args)\` calls a tool. Calls that don't need each other's results go into one \
\`Promise.all\`. A call that fails or is refused throws an Error that says why. \`return\` only what you need to know, or print it with \`console.log\`. \
There are no imports, files, network or timers, and the time stands still.`

function toSearch(count: number): string {
  return `There are ${count} tools, which are not listed here. Look for those that you need first: \
\`return await tools.${searchName}({ query: 'create invoice' })\` returns their declarations.`
}
