import type { McpServer } from '@modelcontextprotocol/server'
import type { Skill } from '../../skills/skill.ts'
import { instructionsOf } from '../../skills/skill-tools.ts'

/** Maximum number of Skills to offer. */
const mostOffered = 200

/** Offers each Skill as a prompt, and its instructions as a resource. Its files and scripts are available through tools. */
export function offerSkills(server: McpServer, skills: readonly Skill[]): void {
  for (const skill of skills.slice(0, mostOffered)) {
    const { name, description, body } = skill
    server.registerPrompt(name, { description }, async () => ({
      messages: [{ role: 'user', content: { type: 'text', text: await instructionsOf(skill) } }],
    }))
    const mimeType = 'text/markdown'
    server.registerResource(name, `skill://${encodeURIComponent(name)}/SKILL.md`, { description, mimeType }, ({ href: uri }) => ({
      contents: [{ uri, mimeType, text: body }],
    }))
  }
}
