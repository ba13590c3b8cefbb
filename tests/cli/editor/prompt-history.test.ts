import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openPromptHistory } from '../../../src/cli/terminal/editor/prompt-history.ts'
import { tempFolder } from '../temp-folder.ts'

const failing = (error: unknown) => {
  throw error
}

it('stores prompts for the next chat in a file only its owner can read, except those with keys or a leading space', async () => {
  const HOME = await tempFolder()
  const history = await openPromptHistory({ env: { HOME } }, failing)
  for (const prompt of ['one', 'two\nlines', 'two\nlines', ' hidden', 'use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'])
    await history.add(prompt)
  expect(history.prompts).toHaveLength(4)
  expect((await openPromptHistory({ env: { HOME } }, failing)).prompts).toEqual(['one', 'two\nlines'])
  expect((await stat(join(HOME, '.toolloop/history'))).mode & 0o777).toBe(0o600)
})

it('uses the file in the environment, and none if that is empty', async () => {
  const folder = await tempFolder()
  const byState = await openPromptHistory({ env: { HOME: '/nowhere', XDG_STATE_HOME: folder } }, failing)
  await byState.add('one')
  expect(await readFile(join(folder, 'toolloop/history'), 'utf8')).toBe('"one"\n')
  const none = await openPromptHistory({ env: { HOME: '/nowhere', TOOLLOOP_HISTORY: '' } }, failing)
  await none.add('one')
  expect(none.prompts).toEqual(['one'])
})

it('keeps the newest thousand prompts, skips invalid lines, and makes a readable file private', async () => {
  const folder = await tempFolder({ history: `not json\n${Array.from({ length: 2_500 }, (_, at) => `"${at}"\n`).join('')}"cut` })
  const file = join(folder, 'history')
  const { prompts } = await openPromptHistory({ env: { TOOLLOOP_HISTORY: file } }, failing)
  expect([prompts.length, prompts.at(-1)]).toEqual([1_000, '2499'])
  expect((await readFile(file, 'utf8')).split('\n').length).toBe(1_001)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it('continues a chat that can’t write the file, and says so once', async () => {
  const folder = await tempFolder({ file: '' })
  const problems: unknown[] = []
  const history = await openPromptHistory({ env: { HOME: join(folder, 'file') } }, (error) => problems.push(error))
  await history.add('one')
  expect([history.prompts, problems.length]).toEqual([['one'], 1])
})

it('does not change a device such as /dev/null', async () => {
  const { mode } = await stat('/dev/null')
  const history = await openPromptHistory({ env: { TOOLLOOP_HISTORY: '/dev/null' } }, failing)
  await history.add('one')
  const after = await stat('/dev/null')
  if (after.mode !== mode) await chmod('/dev/null', mode & 0o777)
  expect([history.prompts, after.mode]).toEqual([['one'], mode])
})
