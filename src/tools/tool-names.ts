import { createHash } from 'node:crypto'
import type { AnyTool } from './tool.ts'
import { toolName } from './tool.ts'

const maxCharacters = 64

/**
 * Legal, unique tool names for names from elsewhere, in the same order. A legal name is kept; in others illegal characters become `_`, and a
 * name that is then too long or taken ends in a digest of the whole, so that it is the same every time.
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

/** Which server or API a tool stands for. */
export interface ToolOrigin {
  kind: 'mcp' | 'openapi'
  /** The server's name; the API's title, else its host. */
  name: string
}

/** Enumerable on a tool, so that a copy by `{ ...tool }` has it too. */
const originKey: unique symbol = Symbol('origin')
type OriginatedTool = AnyTool & { [originKey]?: ToolOrigin }

/** Undefined: a tool that stands for itself. */
export function originOf(tool: OriginatedTool): ToolOrigin | undefined {
  return tool[originKey]
}

/** The tool, as one that stands for a server or an API. */
export function fromOrigin(tool: AnyTool, origin: ToolOrigin): AnyTool {
  const marked: OriginatedTool = { ...tool, [originKey]: origin }
  return marked
}
