import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { Cgroup, cgroupSettings, findDelegatedCgroup } from '../../../src/tools/sandbox/process/cgroup.ts'
import { tempFolder } from '../../cli/temp-folder.ts'

/** The mount point of version 2, if this user may create a group at the top. */
const mounted = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((folder) => {
  try {
    accessSync(join(folder, 'cgroup.controllers'))
    accessSync(join(folder, 'cgroup.procs'), constants.W_OK)
    return true
  } catch {
    return false
  }
})

const group = (path: string, control: string) => ({ [`${path}/cgroup.subtree_control`]: control, [`${path}/cgroup.procs`]: '' })

describe('a control group for scripts', () => {
  it('is created in this process’s group or its parent, if delegated with memory and processes', async () => {
    const at = await tempFolder({ ...group('app', 'cpu memory pids\n'), ...group('app/run.scope', ''), ...group('other', 'cpu\n') })
    expect(findDelegatedCgroup(at, '4:memory:/x\n0::/app\n')).toBe(join(at, 'app'))
    expect(findDelegatedCgroup(at, '0::/app/run.scope\n')).toBe(join(at, 'app'))
    expect(findDelegatedCgroup(at, '0::/other\n')).toBeUndefined()
    expect(findDelegatedCgroup(join(at, 'none'), '0::/app\n')).toBeUndefined()
    expect(findDelegatedCgroup(at, '4:memory:/app\n')).toBeUndefined()
    expect(findDelegatedCgroup(at, '')).toBeUndefined()
  })

  it('limits memory and processes', async () => {
    expect(cgroupSettings({ memoryBytes: 1 << 28, processes: 32 })).toMatchObject({ 'memory.max': '1073741824', 'pids.max': '40' })
  })

  const delegated = findDelegatedCgroup()
  it.skipIf(delegated === undefined)('enforces its limits of memory and processes', async () => {
    const run = async (script: string) => {
      const cgroup = new Cgroup(String(delegated), cgroupSettings({ memoryBytes: 4 << 20, processes: 4 }))
      const child = spawn('sh', ['-c', `read go; ${script}`], { detached: true })
      cgroup.add(Number(child.pid))
      child.stdin.end('go\n')
      const [said] = await Promise.all([text(child.stderr), once(child, 'close')])
      try {
        return [child.exitCode, child.signalCode, said]
      } finally {
        await cgroup.close()
      }
    }
    expect(await run('exit 0')).toEqual([0, null, ''])
    expect(await run('head -c 64m /dev/zero | tail -c 60m')).toEqual([null, 'SIGKILL', ''])
    const [, , said] = await run('for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.2 >&2 & done; wait')
    expect(said).toMatch(/fork/)
  })

  it.skipIf(mounted === undefined)('contains a process and what it starts, and disappears when closed', async () => {
    if (mounted === undefined) throw new Error('no groups')
    const before = await readdir(mounted)
    const cgroup = new Cgroup(mounted, { 'cgroup.max.depth': '0', 'no.such.file': '1' })
    const child = spawn('sh', ['-c', 'read go; cat /proc/self/cgroup'])
    if (child.pid === undefined) throw new Error('not started')
    cgroup.add(child.pid)
    child.stdin.end('go\n')
    const said: Buffer[] = []
    child.stdout.on('data', (data: Buffer) => said.push(data))
    await once(child, 'close')
    expect(String(Buffer.concat(said))).toMatch(/^0::\/toolloop-[\w-]+$/m)
    const [made] = (await readdir(mounted)).filter((name) => !before.includes(name))
    expect(await readFile(join(mounted, String(made), 'cgroup.max.depth'), 'utf8')).toBe('0\n')
    await cgroup.close()
    expect((await readdir(mounted)).filter((name) => !before.includes(name))).toEqual([])
  })
})
