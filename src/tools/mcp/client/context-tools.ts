import { ToolloopError } from '../../../core/errors.ts'
import { type ChatMessage, type Content, type ContentPart, textOf } from '../../../core/messages.ts'
import { type AnyTool, defineTool, type ToolContext } from '../../tool.ts'
import { timeoutOf } from './call-time.ts'
import { contentOf } from './calls/call-result.ts'
import type { ServerLink } from './server-link.ts'
import { needsApproval } from './trust.ts'

/** A tool for a server's resources or prompts. */
export interface ContextTool {
  /** The tool's name without the server's prefix. */
  name: string
  make(name: string): AnyTool
}

/** Maximum number of items on a page. */
const shownItems = 100

/** Returns the tools for the resources and prompts that the server offers and its options enable. */
export function contextTools(link: ServerLink): ContextTool[] {
  const { resources, prompts = false } = link.server
  const found: ContextTool[] = []
  const add = (name: string, define: (shared: Shared) => AnyTool) => {
    const make = (fullName: string) => {
      const timeoutMs = timeoutOf(link.server, name)
      const approval = needsApproval(link.server, { name, annotations: {} })
      return define({
        name: fullName,
        effect: 'read',
        timeoutMs,
        ...(approval ? { approval } : {}),
      })
    }
    found.push({ name, make })
  }
  if (resources === 'all' && link.offers('resources')) add('list_resources', (shared) => listResources(link, shared))
  if (resources !== undefined && link.offers('resources')) add('read_resource', (shared) => readResource(link, shared))
  if (prompts && link.offers('prompts')) {
    add('list_prompts', (shared) => listPrompts(link, shared))
    add('get_prompt', (shared) => getPrompt(link, shared))
  }
  return found
}

interface Shared {
  name: string
  effect: 'read'
  timeoutMs?: number
  approval?: true
}

const listParameters = {
  type: 'object',
  properties: {
    search: { type: 'string', maxLength: 1_000, description: 'Only those that have this text in their name, description or address.' },
    offset: { type: 'integer', minimum: 0, description: `How many to leave out. At most ${shownItems} are listed at once.` },
  },
  additionalProperties: false,
} as const

function listResources(link: ServerLink, shared: Shared): AnyTool {
  return defineTool({
    ...shared,
    description: `Lists what can be read from \`${link.name}\`: resources, and templates for the addresses of more resources.`,
    parameters: listParameters,
    execute: async (args, { signal }: ToolContext) => {
      const [resources, templates] = [await link.context.resources(signal), await link.context.templates(signal)]
      const shown = pageOf(resources, args)
      return { resources: shown.items, ...shown.rest, ...(args.offset ? {} : { templates: pageOf(templates, args).items }) }
    },
  })
}

function readResource(link: ServerLink, shared: Shared): AnyTool {
  const { resources } = link.server
  const what = resources === 'links' ? 'a resource that a result of its tools has linked to' : 'a resource'
  return defineTool({
    ...shared,
    description: `Reads ${what} at \`${link.name}\`.`,
    parameters: {
      type: 'object',
      properties: { uri: { type: 'string', minLength: 1, maxLength: 8_192, description: 'Its address, exactly as it was given.' } },
      required: ['uri'],
      additionalProperties: false,
    },
    toContent: (content: Content) => content,
    execute: async ({ uri }, ctx: ToolContext) => {
      if (resources === 'links' && !(await link.links.has(ctx, uri)))
        throw new ToolloopError('tool_failed', 'No result in this conversation has linked to that address. Use an address from a result.')
      return readable(await link.context.read(uri, ctx.signal))
    },
  })
}

function listPrompts(link: ServerLink, shared: Shared): AnyTool {
  return defineTool({
    ...shared,
    description: `Lists the prompts of \`${link.name}\`: prepared instructions for tasks, with their arguments.`,
    parameters: listParameters,
    execute: async (args, { signal }: ToolContext) => {
      const { items: prompts, rest } = pageOf(await link.context.prompts(signal), args)
      return { prompts, ...rest }
    },
  })
}

function getPrompt(link: ServerLink, shared: Shared): AnyTool {
  return defineTool({
    ...shared,
    description: `Gets a prompt of \`${link.name}\` with its arguments filled in.`,
    parameters: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'As it is listed.' },
        arguments: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['name'],
      additionalProperties: false,
    },
    toContent: (content: Content) => content,
    execute: async (args, { signal }: ToolContext) =>
      shownPrompt(await link.context.prompt(args.name, (args.arguments ?? {}) as Record<string, string>, signal)),
  })
}

/** Returns a page of the matching items. `rest`: the total number and the next offset, unless this is the last page. */
function pageOf<T extends object>(all: readonly T[], { search = '', offset = 0 }: { search?: string; offset?: number }) {
  const wanted = search.toLowerCase()
  const found = wanted === '' ? all : all.filter((item) => JSON.stringify(item).toLowerCase().includes(wanted))
  const items = found.slice(offset, offset + shownItems)
  const next = offset + items.length
  return { items, rest: next < found.length ? { of: found.length, nextOffset: next } : {} }
}

function readable(parts: ContentPart[]): Content {
  return parts.length === 0 ? '(nothing)' : contentOf(parts)
}

/** Shows a single message as its content, and several messages with their roles. */
function shownPrompt(messages: readonly ChatMessage[]): Content {
  const [first, ...others] = messages
  if (first !== undefined && others.length === 0) return first.content ?? ''
  const parts = messages.flatMap(({ role, content }): ContentPart[] => {
    const said: ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    return [{ type: 'text', text: `${role}: ${textOf(said)}` }, ...said.filter(({ type }) => type !== 'text')]
  })
  return contentOf(parts)
}
