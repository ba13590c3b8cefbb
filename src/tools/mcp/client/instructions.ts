import { ToolloopError } from '../../../core/errors.ts'
import { textOf } from '../../../core/messages.ts'
import type { ServerLink } from './server-link.ts'

/** Maximum size of one server's instructions in characters. Limited because they are sent with every request. */
const mostCharacters = 256 * 1024

/**
 * Returns the texts of a server that the option `instructions` selects; `''` if the option selects no texts. Rejects with `tool_failed` if
 * a selected text can't be read.
 */
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
