import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type SqliteSessionsOptions, sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inFolder } from '../journals/temp-folder.ts'

const model = scriptedModel(({ messages }) => `heard ${messages.length}`, { record: false })
const logger = { debug() {}, info() {}, warn() {}, error() {} }

function open(options: SqliteSessionsOptions) {
  const sessions = sqliteSessions(options)
  return { sessions, runner: new AgentRunner({ model, sessions, logger }) }
}

describe('the file of SQLite sessions', () => {
  it('stores 1,000 sessions at once, and a message of 20 MB', { timeout: 60_000 }, () =>
    inFolder(async (folder) => {
      const { sessions, runner } = open({ file: join(folder, 'sessions.sqlite'), synchronous: 'normal' })
      const ids = Array.from({ length: 1_000 }, (_, at) => `chat-${at}`)
      for (const heard of ['heard 1', 'heard 3']) {
        const results = await Promise.all(ids.map((session) => runner.run(`in ${session}`, { session })))
        expect(new Set(results.map(({ output }) => output))).toEqual(new Set([heard]))
      }
      let count = 0
      for (let cursor: string | undefined; ; ) {
        const page = await sessions.list({ limit: 300, ...(cursor === undefined ? {} : { cursor }) })
        count += page.sessions.length
        cursor = page.next
        if (cursor === undefined) break
      }
      expect(count).toBe(1_000)
      const huge = 'é'.repeat(10_000_000)
      await runner.run(huge, { session: 'huge' })
      expect((await sessions.read('huge'))[0]?.content === huge).toBe(true)
      await sessions.close()
    }),
  )
})
