import { createHash } from 'node:crypto'
import type { AnyTool } from './tool.ts'
import { toolName } from './tool.ts'

const maxCharacters = 64

/**
 * Converts foreign names to legal, unique tool names, in the same order. A legal name is kept. In any other name, illegal characters become
 * `_`. A name that is too long or already taken gets a digest of the original name, so that the result is always the same.
 */
export function legalToolNames(wanted: readonly string[]): string[] {
  const taken = new Set<string>()
  const names: (string | undefined)[] = wanted.map((name) => (toolName.test(name) && claim(taken, name) ? name : undefined))
  return wanted.map((name, index) => {
    const own = names[index]
    if (own !== undefined) return own
    const legal = name.replace(/[^a-zA-Z0-9_-]+/g, '_')
    if (legal !== name && toolName.test(legal) && claim(taken, legal)) return legal
    for (let turn = 0; ; turn++) {
      const digest = createHash('sha256').update(`${turn}:${name}`).digest('hex').slice(0, 8)
      const hashed = `${legal.slice(0, maxCharacters - digest.length - 1)}_${digest}`
      if (claim(taken, hashed)) return hashed
    }
  })
}

function claim(taken: Set<string>, name: string): boolean {
  if (taken.has(name)) return false
  taken.add(name)
  return true
}

/** The server or API behind a tool. */
export interface ToolOrigin {
  kind: 'mcp' | 'openapi'
  /** The name of the server, or the title of the API. An API without a title is named by its host. */
  name: string
}

/** The property of a tool that contains its origin. It is enumerable, so that a copy made with `{ ...tool }` keeps it. */
const originKey: unique symbol = Symbol('origin')
type OriginatedTool = AnyTool & { [originKey]?: ToolOrigin }

/** Returns the server or API behind a tool. Undefined if the tool has neither. */
export function originOf(tool: OriginatedTool): ToolOrigin | undefined {
  return tool[originKey]
}

export function fromOrigin(tool: AnyTool, origin: ToolOrigin): AnyTool {
  const marked: OriginatedTool = { ...tool, [originKey]: origin }
  return marked
}
