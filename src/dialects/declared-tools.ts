import { isJsonObject } from '../core/messages.ts'
import { ToolNames } from '../tools/call/written-name.ts'
import type { JsonSchema, ToolDefinition } from '../tools/tool.ts'

/** The tools that a model may call. */
export class DeclaredTools {
  readonly #tools: Map<string, ToolDefinition> = new Map()
  #written: ToolNames | undefined

  constructor(tools: readonly ToolDefinition[] = []) {
    for (const tool of tools) this.#tools.set(tool.function.name, tool)
  }

  get names(): string[] {
    return [...this.#tools.keys()]
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  /**
   * Returns the name of the tool with exactly this name, or of the only tool with a similar name. Differences in case, escapes and added
   * markup are ignored.
   */
  resolve(written: string): string | undefined {
    if (this.#tools.has(written)) return written
    this.#written ??= new ToolNames(this.#tools.keys())
    return this.#written.meantBy(written)
  }

  /** A tool's properties by name. Undefined if the tool is not declared, or its schema has no properties. */
  properties(name: string): Record<string, JsonSchema> | undefined {
    const properties = this.#tools.get(name)?.function.parameters?.properties
    return isJsonObject(properties) ? (properties as Record<string, JsonSchema>) : undefined
  }

  property(name: string, argument: string): JsonSchema | undefined {
    const properties = this.properties(name)
    const schema = properties !== undefined && Object.hasOwn(properties, argument) ? properties[argument] : undefined
    return isJsonObject(schema) ? schema : undefined
  }

  /** The tool's only argument, or its only required argument. A value without a name is for this argument. */
  onlyArgument(name: string): string | undefined {
    const keys = Object.keys(this.properties(name) ?? {})
    if (keys.length === 1) return keys[0]
    const required = this.#tools.get(name)?.function.parameters?.required
    return Array.isArray(required) && required.length === 1 && typeof required[0] === 'string' ? required[0] : undefined
  }

  declares(name: string, args: Record<string, unknown>): boolean {
    const properties = this.properties(name)
    return properties !== undefined && Object.keys(args).every((key) => Object.hasOwn(properties, key))
  }

  /** The name of the only declared tool, if the arguments fit it. Used for a call without a name. */
  onlyToolFor(args: Record<string, unknown>): string | undefined {
    const [name, ...others] = this.#tools.keys()
    if (name === undefined || others.length > 0) return undefined
    return this.declares(name, args) ? name : undefined
  }
}
