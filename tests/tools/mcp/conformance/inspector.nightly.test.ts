import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bareEnv } from '../../../cli/fake-io.ts'
import { tempFolder } from '../../../cli/temp-folder.ts'
import { startService, token } from '../../../service/start-service.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const inspector = join(root, '.ci/conformance/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const main = join(root, 'src/cli/main.ts')

interface Server {
  command?: string
  args?: string[]
  url?: string
}

/** The servers of an example, using this checkout and this service instead of an installed package. */
function serversIn(example: string, url: string): Record<string, Server> {
  const text = readFileSync(join(root, 'tests/examples', example), 'utf8')
  const { mcpServers, servers } = JSON.parse(text.replaceAll(/\$\{[\w:-]+\}/g, token))
  return Object.fromEntries(
    Object.entries<Server>(mcpServers ?? servers).map(([name, { command, args = [], ...server }]) => {
      if (command === undefined) return [name, { ...server, url: `${url}/mcp` }]
      expect([command, args[0]]).toEqual(['npx', 'toolloop'])
      return [name, { type: 'stdio', ...server, command: process.execPath, args: [main, ...args.slice(1)] }]
    }),
  )
}

it.skipIf(!existsSync(inspector)).each(['claude-code.mcp.json', 'vs-code.mcp.json'])(
  'the official Inspector lists and calls the served tools, configured as in %s',
  { timeout: 300_000 },
  async (example) => {
    const skill = '---\nname: greeting\ndescription: How to greet.\n---\nSay Moin.\n'
    const cwd = await tempFolder({
      'skills/greeting/SKILL.md': skill,
      'toolloop.yaml': 'skills: { paths: [skills] }\ntools: { builtin: [calculate] }\nservice: { mcp: true }\n',
    })
    const { url } = await startService({ configFile: join(cwd, 'toolloop.yaml'), cwd })
    await writeFile(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: serversIn(example, url) }))
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HOME: cwd, ...bareEnv }
    const ask = (server: string, ...asked: string[]) =>
      new Promise<Record<string, never>>((resolve, reject) => {
        const args = [inspector, '--cli', '--config', join(cwd, 'mcp.json'), '--server', server, '--method', ...asked]
        execFile(process.execPath, args, { cwd, env }, (error, stdout, stderr) =>
          error === null ? resolve(JSON.parse(stdout)) : reject(new Error(`${asked.join(' ')}: ${stdout}${stderr}`)),
        )
      })
    const inspect = async (server: string) => {
      const { tools } = await ask(server, 'tools/list')
      expect(tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'calculate' })]))
      const call = ['tools/call', '--tool-name', 'calculate', '--tool-arg', 'expression=6*7']
      expect(await ask(server, ...call)).toMatchObject({ content: [{ type: 'text', text: expect.stringMatching(/42/) }] })
      const named = { name: 'greeting', description: 'How to greet.' }
      expect(await ask(server, 'prompts/list')).toMatchObject({ prompts: [named] })
      const said = [{ content: { text: expect.stringMatching(/Say Moin\./) } }]
      expect(await ask(server, 'prompts/get', '--prompt-name', 'greeting')).toMatchObject({ messages: said })
      const uri = 'skill://greeting/SKILL.md'
      expect(await ask(server, 'resources/list')).toMatchObject({ resources: [{ ...named, uri }] })
      expect(await ask(server, 'resources/read', '--uri', uri)).toMatchObject({ contents: [{ uri, text: 'Say Moin.' }] })
    }
    await Promise.all(['toolloop', 'toolloop-service'].map(inspect))
  },
)
