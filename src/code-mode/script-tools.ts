import { type Content, isJsonObject } from '../core/messages.ts'
import type { ToolSet } from '../tools/registry.ts'
import { resultText } from '../tools/result-text.ts'
import type { AnyTool, ApprovalContext, ToolContext, ToolDefinition } from '../tools/tool.ts'
import { exactText } from './result-values.ts'

/** A set of tools for scripts. Their results are texts that a script can parse. */
export class ScriptTools implements ToolSet {
  readonly #set: ToolSet
  readonly #made = new WeakMap<AnyTool, AnyTool>()

  constructor(set: ToolSet) {
    this.#set = set
  }

  get size(): number {
    return this.#set.size
  }

  get(name: string): AnyTool | undefined {
    const tool = this.#set.get(name)
    return tool && this.#scripted(tool)
  }

  names(): string[] {
    return this.#set.names()
  }

  list(): AnyTool[] {
    return this.#set.list().map((tool) => this.#scripted(tool))
  }

  getAllSpecs(): readonly ToolDefinition[] {
    return this.#set.getAllSpecs()
  }

  settled(): Promise<void> | undefined {
    return this.#set.settled?.()
  }

  #scripted(tool: AnyTool): AnyTool {
    const made = this.#made.get(tool) ?? withExactResults(tool)
    this.#made.set(tool, made)
    return made
  }
}

/**
 * Copies a tool so that the copy's results are texts that a script can parse. The functions of the copy are called with the original as
 * `this`.
 */
function withExactResults(tool: AnyTool): AnyTool {
  const { approval } = tool
  const own: Partial<AnyTool> = {
    toContent: (value) => contentFor(tool, value),
    ...(tool.execute && { execute: (args: never, ctx: ToolContext) => tool.execute?.(args, ctx) }),
    ...(tool.reconcile && { reconcile: (args: never, ctx: ToolContext) => tool.reconcile?.(args, ctx) }),
    ...(typeof approval === 'function' && { approval: (...given: [never, ApprovalContext]) => approval.apply(tool, given) }),
  }
  return Object.assign(Object.create(tool, Object.fromEntries(Object.keys(own).map((name) => [name, { writable: true }]))), own)
}

/**
 * Returns the content that a script reads. Structured data, of a tool with an `outputSchema` or of an MCP server, is preferred to the text
 * for models.
 */
function contentFor(tool: AnyTool, value: unknown): Content {
  const data = tool.outputSchema !== undefined ? value : isJsonObject(value) && 'content' in value ? value.structured : undefined
  if (tool.toContent === undefined || (typeof data === 'object' && data !== null))
    return exactText(resultText(data ?? value), data ?? value)
  return exactText(tool.toContent(value as never), value)
}
