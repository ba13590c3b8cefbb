import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { fakeIO } from './fake-io.ts'
import { tempFolder } from './temp-folder.ts'

const config = { 'toolloop.yaml': 'service: { keepRuns: { folder: ./runs } }\n' }

async function upgrade(cwd: string) {
  const io = fakeIO({ cwd })
  io.stdin.end()
  return { code: await runCommand(['upgrade'], io), stdout: io.out(), stderr: io.err() }
}

it('toolloop upgrade says that there is nothing to move, and makes nothing', async () => {
  const cwd = await tempFolder({ ...config, 'runs/notes.txt': 'mine' })
  const { code, stdout } = await upgrade(cwd)
  expect([code, stdout]).toEqual([0, `There is nothing to move: no runs of an earlier version are in ${join(cwd, 'runs')}.\n`])
  expect(await readdir(join(cwd, 'runs'))).toEqual(['notes.txt'])
})

it('toolloop upgrade says that there is no folder', async () => {
  const { code, stderr } = await upgrade(await tempFolder(config))
  expect([code, stderr]).toEqual([2, expect.stringContaining('Expected `service.keepRuns.folder` to be a folder with runs (ENOENT')])
})
