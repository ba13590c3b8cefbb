import { ToolloopError } from '../../../core/errors.ts'
import { textOf } from '../../../core/messages.ts'
import type { ServerLink } from './server-link.ts'

/** Of one server, in characters: all of it is sent with every request. */
const mostCharacters = 256 * 1024

/** What a server's options want of it in the instructions; `''` for nothing. Rejects with `tool_failed` when it does not give that. */
export async function instructionsOf(link: ServerLink, signal: AbortSignal): Promise<string> {
  const { instructions = false, optional } = link.server
  if (instructions === false || (optional && link.state !== 'ready')) return ''
  const { own = true, prompts = [], resources = [] } = instructions === true ? {} : instructions
  const texts = own && link.ownInstructions !== undefined ? [link.ownInstructions] : []
  for (const name of prompts) {
    const messages = await link.context.prompt(name, {}, signal)
    texts.push(messages.map(({ content }) => textOf(content ?? '')).join('\n\n'))
  }
  for (const uri of resources) texts.push(textOf(await link.context.read(uri, signal)))
  if (texts.length === 0) return ''
  const text = `# ${link.name}\n\n${texts.join('\n\n')}`
  if (text.length > mostCharacters) {
    throw new ToolloopError('tool_failed', `The MCP server \`${link.name}\` gives instructions of more than ${mostCharacters} characters`)
  }
  return text
}
