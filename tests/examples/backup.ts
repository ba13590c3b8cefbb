import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AgentRunner } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const folder = process.env.DATA_FOLDER ?? mkdtempSync(join(tmpdir(), 'runs-'))
const file = join(folder, 'runs.sqlite')
const journal = sqliteJournal({ file })
await new AgentRunner({ model: scriptedModel(['Hello!']), journal }).run('Hi.', { runId: 'greeting' })

// In any process, at any time. The `.backup` command of the sqlite3 shell does the same.
const database = new DatabaseSync(file, { readOnly: true })
database.prepare('VACUUM INTO ?').run(join(folder, 'backup.sqlite'))
database.close()

await journal.close()
const restored = sqliteJournal({ file: join(folder, 'backup.sqlite') })
const { runs } = new AgentRunner({ model: scriptedModel([]), journal: restored })
console.log((await runs.get('greeting'))?.result?.output)
await restored.close()
