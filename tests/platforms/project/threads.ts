import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner } from 'toolloop'
import { sqliteJournal } from 'toolloop/journals/sqlite'
import { SkillsSandboxExecutor } from 'toolloop/skills'
import { scriptedModel } from 'toolloop/testing'
import { builtinTools } from 'toolloop/tools'

/** What runs in threads: a journal in a file, a search by regular expression, a script of a Skill. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-threads-'))
  writeFileSync(join(folder, 'text.txt'), 'one\ntwo 42\n')
  writeFileSync(join(folder, 'script.js'), 'export default () => 6 * 7')
  const model = scriptedModel([{ toolCalls: [{ name: 'search_files', args: { query: 't.o \\d+', regex: true } }] }, 'Found.'])
  const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
  const { output, toolCalls } = await new AgentRunner({ model, tools: builtinTools({ workspace: folder }), journal }).run('Search.')
  await using scripts = new SkillsSandboxExecutor()
  const script = scripts.run({ folder, script: 'script.js', args: {}, signal: AbortSignal.timeout(20_000) })
  const sandbox = await script.then(
    ({ value }) => value,
    (error: Error) => error.message,
  )
  console.log(JSON.stringify({ output, search: toolCalls[0]?.value, sandbox }))
}
void main()
