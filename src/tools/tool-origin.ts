import type { AnyTool } from './tool.ts'

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
