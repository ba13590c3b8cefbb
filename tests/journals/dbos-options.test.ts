import { expect, it } from 'vitest'
import { type DbosJournalOptions, dbosJournal } from '../../src/journals/dbos/index.ts'

const url = 'postgres://me:secret@127.0.0.1:1/runs'

it.each<[string, Record<string, unknown>]>([
  ['url', { url: '' }],
  ['url', { url: 'mysql://me:secret@127.0.0.1/runs' }],
  ['url', { url: 'me:secret' }],
  ['agent', { agent: '' }],
  ['agent', { agent: 'a/b' }],
  ['agent', { agent: 'a\0b' }],
  ['schema', { schema: 'Runs"; DROP' }],
  ['connections', { connections: 6 }],
  ['connections', { connections: 7.5 }],
  ['outageMs', { outageMs: -1 }],
  ['takeOverEveryMs', { takeOverEveryMs: 10 }],
  ['takeOverConcurrency', { takeOverConcurrency: 0 }],
  ['launch', { launch: 'yes' }],
  ['takeoverEveryMs', { takeoverEveryMs: 1_000 }],
])('dbosJournal refuses a bad `%s`: %o', (option, options) => {
  let thrown: unknown
  try {
    dbosJournal({ url, ...options } as DbosJournalOptions)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'invalid_option', message: expect.stringContaining(option) })
  // What is in a URL stays out of messages and logs.
  expect(String(thrown)).not.toContain('secret')
})

it('dbosJournal connects to no database before the first run', async () => {
  const journal = dbosJournal({ url })
  await journal.close()
})
