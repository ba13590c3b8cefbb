import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import { refuseOutputConfig } from './response-formats.ts'
import { refuseInputSchema } from './tool-schemas.ts'

/**
 * The reason why Anthropic's Messages API would refuse a request with status 400, so that a test notices a broken request and not only a
 * broken response. Checks the rules about conversations, tools and caching. Source: https://platform.claude.com/docs/en/api/messages
 */
export function refuseAnthropicMessage(body: JsonObject): string | undefined {
  if (typeof body.model !== 'string' || body.model === '') return 'model: Field required'
  if (typeof body.max_tokens !== 'number' || body.max_tokens < 1) return 'max_tokens: Field required'
  if (typeof body.temperature === 'number' && !(body.temperature >= 0 && body.temperature <= 1)) return 'temperature: range: 0..1'
  return (
    refuseThinking(body) ??
    refuseOutputConfig(body.output_config) ??
    refuseTools(body) ??
    refuseDeferred(body) ??
    refuseSystem(body.system) ??
    refuseMessages(body) ??
    refuseMarks(body)
  )
}

function refuseThinking({ thinking, max_tokens: most, tool_choice: choice, temperature }: JsonObject): string | undefined {
  if (!isJsonObject(thinking) || thinking.type === 'disabled') return undefined
  const budget = thinking.budget_tokens
  if (thinking.type === 'enabled' && !(typeof budget === 'number' && budget >= 1024)) {
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  }
  if (typeof budget === 'number' && typeof most === 'number' && budget >= most) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`'
  }
  if (isJsonObject(choice) && (choice.type === 'any' || choice.type === 'tool')) {
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  }
  return temperature === undefined || temperature === 1 ? undefined : '`temperature` may only be set to 1 when thinking is enabled.'
}

const toolName = /^[a-zA-Z0-9_-]{1,128}$/

function refuseTools({ tools, tool_choice: choice }: JsonObject): string | undefined {
  const offered = Array.isArray(tools) ? tools : []
  if (choice !== undefined && offered.length === 0) return 'tool_choice may only be specified while providing tools'
  const names = new Set<string>()
  for (const [at, tool] of offered.entries()) {
    if (!isJsonObject(tool) || typeof tool.name !== 'string') return `tools.${at}.name: Field required`
    if (!toolName.test(tool.name)) return `tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
    if (names.has(tool.name)) return 'tools: Tool names must be unique.'
    names.add(tool.name)
    // The provider's own tools have a type and no schema.
    if (tool.type !== undefined && tool.type !== 'custom') continue
    const problem = refuseInputSchema(tool.input_schema)
    if (problem !== undefined) return `tools.${at}.custom.input_schema: ${problem}`
  }
  if (isJsonObject(choice) && choice.type === 'tool' && !names.has(String(choice.name))) {
    return `Tool '${String(choice.name)}' not found in provided tools`
  }
  return undefined
}

/** Rules for deferred tools: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool */
function refuseDeferred({ tools, messages }: JsonObject): string | undefined {
  const offered = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  const deferred = offered.filter((tool) => tool.defer_loading === true)
  const marked = deferred.find((tool) => tool.cache_control !== undefined)
  if (marked !== undefined) return `Tool '${String(marked.name)}' cannot have both defer_loading=true and cache_control set.`
  if (deferred.length > 0 && deferred.length === offered.length) return 'At least one tool must have defer_loading=false'
  const references = JSON.stringify(messages).matchAll(/"type":"tool_reference","tool_name":"([^"]*)"/g)
  const unknown = [...references].find(([, name]) => !offered.some((tool) => tool.name === name))
  return unknown && `Tool reference '${unknown[1]}' not found in available tools`
}

function refuseSystem(system: Json | undefined): string | undefined {
  if (!Array.isArray(system)) return undefined
  const at = system.findIndex((block) => !isJsonObject(block) || isBlank(block))
  return at === -1 ? undefined : `system.${at}: text content blocks must be non-empty`
}

interface Turn {
  role: string
  blocks: JsonObject[]
  /** The position of its first message. */
  at: number
}

function refuseMessages({ messages, tools, model }: JsonObject): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: at least one message is required'
  const turns: Turn[] = []
  for (const [at, message] of messages.entries()) {
    if (isJsonObject(message) && message.role === 'system') {
      const problem = refuseSystemMessage(message, at, messages, String(model))
      if (problem !== undefined) return problem
      continue
    }
    if (!isJsonObject(message) || (message.role !== 'user' && message.role !== 'assistant'))
      return `messages.${at}.role: Input should be 'user' or 'assistant'`
    const { role, content } = message
    const blocks =
      typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content.filter(isJsonObject) : []
    if (blocks.length === 0) return `messages.${at}: all messages must have non-empty content`
    if (blocks.some(isBlank)) return `messages.${at}: text content blocks must contain non-whitespace text`
    const last = turns.at(-1)
    // Consecutive messages of one role are one turn to the API.
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks, at })
  }
  if (turns[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  const speaksOfTools = turns.some(({ blocks }) => blocks.some(({ type }) => type === 'tool_use' || type === 'tool_result'))
  if (speaksOfTools && tools === undefined) return 'Requests which include `tool_use` or `tool_result` blocks must define tools'
  // Compatible servers check no signatures, and have their own ids.
  const isClaude = String(model).includes('claude')
  return refuseCalls(turns, isClaude ? /^[a-zA-Z0-9_-]+$/ : /./) ?? (isClaude ? refuseThoughts(turns) : undefined)
}

/** https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages */
function refuseSystemMessage({ content }: JsonObject, at: number, messages: readonly Json[], model: string): string | undefined {
  const roleAt = (position: number) => {
    const message = messages[position]
    return isJsonObject(message) ? message.role : undefined
  }
  if (!/^claude-(opus-4-8|(opus|sonnet|haiku|fable|mythos)-[5-9])/.test(model)) return "role 'system' is not supported on this model"
  if (at === 0) return "messages.0: use the top-level 'system' parameter for the initial system prompt"
  if (roleAt(at - 1) !== 'user') return `messages.${at}: role 'system' must follow a 'user' message`
  if (at < messages.length - 1 && roleAt(at + 1) !== 'assistant')
    return `messages.${at + 1}: role 'system' must precede an 'assistant' message`
  const blocks =
    typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content.filter(isJsonObject) : []
  const isLegal = blocks.length > 0 && blocks.every((block) => block.type === 'text' && !isBlank(block))
  return isLegal ? undefined : `messages.${at}: system messages hold non-empty text`
}

/** Every call must have its result at the start of the next turn, and every result its call. */
function refuseCalls(turns: readonly Turn[], ids: RegExp): string | undefined {
  const known = new Set<string>()
  let open = new Set<string>()
  for (const { role, blocks, at } of [...turns, { role: 'user', blocks: [], at: turns.length }]) {
    const answered = new Set(open)
    let isPastResults = false
    for (const block of blocks) {
      if (block.type === 'tool_result') {
        const id = String(block.tool_use_id)
        if (role !== 'user' || isPastResults || !open.delete(id)) {
          return `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
        }
      } else isPastResults = true
    }
    if (open.size > 0) {
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}. Of ${answered.size} call(s)`
    }
    open = new Set()
    for (const block of blocks) {
      if (block.type !== 'tool_use') continue
      const problem = refuseCall(block, role, ids)
      if (problem !== undefined) return `messages.${at}.${problem}`
      const id = String(block.id)
      if (known.has(id)) return `messages.${at}: \`tool_use\` ids must be unique`
      known.add(id)
      open.add(id)
    }
  }
  return undefined
}

function refuseCall({ id, name, input }: JsonObject, role: string, ids: RegExp): string | undefined {
  if (role !== 'assistant') return '`tool_use` blocks can only be in `assistant` messages'
  if (typeof id !== 'string' || !ids.test(id)) return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
  if (typeof name !== 'string' || !toolName.test(name)) return "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
  return isJsonObject(input) ? undefined : 'tool_use.input: Input should be a valid dictionary'
}

function refuseThoughts(turns: readonly Turn[]): string | undefined {
  for (const { role, blocks, at } of turns) {
    for (const { type, signature, data } of blocks) {
      if (type !== 'thinking' && type !== 'redacted_thinking') continue
      if (role !== 'assistant') return `messages.${at}: \`${type}\` blocks can only be in \`assistant\` messages`
      const seal = type === 'thinking' ? signature : data
      if (typeof seal !== 'string' || seal === '') return `messages.${at}: Invalid \`signature\` in \`thinking\` block`
    }
  }
  return undefined
}

/** At most four blocks may be marked for caching. */
function refuseMarks({ system, tools, messages }: JsonObject): string | undefined {
  const lists = [
    system,
    tools,
    ...(Array.isArray(messages) ? messages.map((message) => (isJsonObject(message) ? message.content : [])) : []),
  ]
  const marked = lists.flatMap((list) =>
    Array.isArray(list) ? list.filter((block) => isJsonObject(block) && block.cache_control !== undefined) : [],
  )
  if (marked.some((block) => isJsonObject(block) && String(block.type).endsWith('thinking')))
    return 'thinking blocks cannot have `cache_control`'
  return marked.length > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.` : undefined
}

function isBlank({ type, text }: JsonObject): boolean {
  return type === 'text' && (typeof text !== 'string' || text.trim() === '')
}
