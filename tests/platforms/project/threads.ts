import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner } from 'toolloop'
import { sqliteJournal } from 'toolloop/journals/sqlite'
import { createService } from 'toolloop/service'
import { SkillsSandboxExecutor } from 'toolloop/skills'
import { scriptedModel } from 'toolloop/testing'
import { builtinTools } from 'toolloop/tools'

/** What is more than one file: the threads of a journal, a search by regular expression and a script of a Skill; the page of the service. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-threads-'))
  writeFileSync(join(folder, 'text.txt'), 'one\ntwo 42\n')
  writeFileSync(join(folder, 'script.js'), 'export default () => 6 * 7')
  const model = scriptedModel([{ toolCalls: [{ name: 'search_files', args: { query: 't.o \\d+', regex: true } }] }, 'Found.'])
  const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
  const { output, toolCalls } = await new AgentRunner({ model, tools: builtinTools({ workspace: folder }), journal }).run('Search.')
  const scripts = new SkillsSandboxExecutor()
  const script = scripts.run({ folder, script: 'script.js', args: {}, signal: AbortSignal.timeout(20_000) })
  const sandbox = await script.then(
    ({ value }) => value,
    (error: Error) => error.message,
  )
  await scripts.close()
  const service = createService({ model: 'demo', authenticate: () => ({ name: 'ann', roles: ['admin', 'run'] }) })
  await service.ready
  const page = await service.fetch(new Request('http://localhost/admin/'))
  const models = await service.fetch(new Request('http://localhost/v1/models'))
  console.log(JSON.stringify({ output, search: toolCalls[0]?.value, sandbox, page: await page.text(), models: models.status }))
  await service.drain()
}
void main()
