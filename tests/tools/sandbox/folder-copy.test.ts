import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readSync } from 'node:fs'
import { chmod, chown, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { messageOf } from '../../../src/core/errors.ts'
import { type SandboxOptions, SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import { FolderCopy } from '../../../src/tools/sandbox/process/folder-copy.ts'
import { isOpenToAll } from '../../../src/tools/sandbox/process/host-folders.ts'
import { findIsolation, findProgram } from '../../../src/tools/sandbox/process/isolation.ts'
import { tempFolder } from '../../cli/temp-folder.ts'

const isolation = await findIsolation()
const isRoot = process.getuid?.() === 0
const isLinux = process.platform === 'linux'
const isSeenByAll = [import.meta.dirname, dirname(process.execPath)].every(isOpenToAll)
const user = 12_345

async function run(folder: string, options: SandboxOptions = {}, script = 'a.sh', signal = new AbortController().signal): Promise<string> {
  const executor = new SkillsSandboxExecutor(options)
  try {
    return (await executor.run({ folder, script, args: [], signal })).stdout
  } finally {
    await executor.close()
  }
}

/** What a script in `folder` prints if an ordinary user starts it; the folder belongs to that user alone. */
async function runAsUser(folder: string): Promise<string> {
  for (const path of ['', ...(await readdir(folder, { recursive: true }))]) {
    await chown(join(folder, path), user, user)
    await chmod(join(folder, path), 0o700)
  }
  const program = `import { SkillsSandboxExecutor } from ${JSON.stringify(new URL('../../../src/tools/skills/index.ts', import.meta.url).href)}
    const executor = new SkillsSandboxExecutor()
    const { stdout } = await executor.run({ folder: ${JSON.stringify(folder)}, script: 'a.sh', args: [], signal: new AbortController().signal })
    process.stdout.write(stdout)
    await executor.close()`
  const options = { uid: user, gid: user, cwd: '/', env: { PATH: process.env.PATH } }
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], options)
  return stdout
}

const openFiles = (): number => readdirSync('/proc/self/fd').length
/** Everything that reveals mounts and open files. */
const lookAround =
  'cat /proc/*/mountinfo /proc/*/mounts /proc/*/mountstats; ls -l /proc/*/fd /proc/*/cwd /proc/*/exe; cat /proc/*/maps; pwd -P'

describe.skipIf(!isolation.available)(
  `the folder of an isolated process${isolation.available ? '' : ` — SKIPPED: ${isolation.why}`}`,
  () => {
    const tellsNothing = (seen: string, folder: string) => {
      expect(seen).toContain('/skill')
      for (const part of folder.split('/').filter((part) => part !== '' && part !== 'tmp')) expect(seen).not.toContain(part)
    }

    it('does not reveal its location on the machine', async () => {
      const folder = await tempFolder({ 'a.sh': lookAround })
      tellsNothing(await run(folder), folder)
    })

    it.skipIf(!isRoot || !isSeenByAll)('does not reveal its location if an ordinary user starts the script', async () => {
      const folder = await tempFolder({ 'a.sh': `cat deep/er/text; ${lookAround}`, 'deep/er/text': 'within' })
      const seen = await runAsUser(folder)
      expect(seen).toContain('within')
      tellsNothing(seen, folder)
    })

    it('contains all files unchanged, including programs and links, and can’t be changed', async () => {
      const binary = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7 + (index >> 8)) & 0xff))
      const script = `stat -c '%A %n' . bin data/deep bin/tool data/deep/text; bin/tool; cat inner data/deep/up | head -c 3
      readlink inner dangling outer; cat outer 2>&1; cat beside/secret 2>&1; sha256sum < data/binary
      touch a.sh new bin/new 2>&1; chmod 700 data 2>&1; rm data/binary 2>&1; mount -o remount,rw /skill 2>&1 | head -1; cat -- '-odd
name ü'`
      const folder = await tempFolder({
        'a.sh': script,
        'bin/tool': '#!/bin/sh\necho tool',
        'data/deep/text': 'deep',
        '-odd\nname ü': 'odd',
      })
      await writeFile(join(folder, 'data/binary'), binary)
      await chmod(join(folder, 'bin/tool'), 0o755)
      await symlink('data/deep/text', join(folder, 'inner'))
      await symlink('../../a.sh', join(folder, 'data/deep/up'))
      await symlink('none', join(folder, 'dangling'))
      await symlink('/etc/passwd', join(folder, 'outer'))
      const beside = await tempFolder({ secret: 'secret' })
      await symlink(beside, join(folder, 'beside'))
      const hash = createHash('sha256').update(binary).digest('hex')
      expect((await run(folder)).split('\n')).toEqual([
        ...['drwxr-xr-x .', 'drwxr-xr-x bin', 'drwxr-xr-x data/deep', '-r-xr-xr-x bin/tool', '-r--r--r-- data/deep/text', 'tool'],
        ...[
          'deedata/deep/text',
          'none',
          '/etc/passwd',
          'cat: outer: No such file or directory',
          'cat: beside/secret: No such file or directory',
        ],
        `${hash}  -`,
        "touch: cannot touch 'a.sh': Permission denied",
        ...['new', 'bin/new'].map((path) => `touch: cannot touch '${path}': Read-only file system`),
        "chmod: changing permissions of 'data': Read-only file system",
        "rm: cannot remove 'data/binary': Read-only file system",
        expect.stringMatching(/^mount: .*(permission denied|must be superuser|not permitted)/),
        'odd',
      ])
    })

    it('is not copied if it has very many files or bytes, but still shown', async () => {
      const many = await tempFolder(Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`files/${index}`, `${index}`])))
      const large = await tempFolder({ data: '' })
      await truncate(join(large, 'data'), 1 << 30)
      for (const folder of [many, large]) {
        await writeFile(join(folder, 'a.sh'), 'ls files 2>&1 | wc -l; stat -c %s data 2>&1; touch new 2>&1; exit 0')
        await chmod(folder, 0o755)
      }
      expect(await run(many)).toMatch(/^600\nstat: .*\ntouch: .*Read-only file system\n$/)
      expect(await run(large)).toMatch(/^1\n1073741824\ntouch: .*Read-only file system\n$/)
      if (!isRoot) return
      await chmod(many, 0o700)
      await expect(run(many)).rejects.toThrow(
        'The script was not run: its folder, which is too large to be copied, is not accessible to everyone, and scripts that root starts run without privileges',
      )
    })

    it('leaves nothing open in this process, however its scripts end', async () => {
      const folder = await tempFolder(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`files/${index}`, 'x'])))
      await writeFile(join(folder, 'a.sh'), 'ls files | wc -l')
      await writeFile(join(folder, 'bad.sh'), 'exit 3')
      await run(folder)
      const before = openFiles()
      const refused = await tempFolder({ 'a.sh': '' })
      execFileSync(findProgram('mkfifo') ?? '', [join(refused, 'pipe')])
      const ends = await Promise.allSettled([
        run(folder),
        run(folder, {}, 'bad.sh'),
        ...[1, 3, 6, 10, 15, 30].map((ms) => run(folder, {}, 'a.sh', AbortSignal.timeout(ms))),
        run(folder, {}, 'a.sh', AbortSignal.abort()),
        run(folder, { env: { PATH: '/none' } }),
        run(folder, { workspace: refused }),
        run(refused),
      ])
      expect(ends[0]?.status).toBe('fulfilled')
      expect(openFiles()).toBeLessThanOrEqual(before)
    })

    it('stays within the size of its copy if a file grows during copying', async () => {
      const folder = await tempFolder({ grows: '' })
      const copy = await FolderCopy.open(folder)
      onTestFinished(() => copy?.close())
      await truncate(join(folder, 'grows'), 1 << 30)
      if (!isolation.available || copy === undefined) throw new Error('no copy')
      const limits = { memoryBytes: 256 << 20, processes: 32, seconds: 10, scratchBytes: 1 << 20 }
      const { child, cgroup } = isolation.start(['/bin/true'], { folder: copy, scratchBytes: 1 << 20 }, limits)
      let said = ''
      child.stdout?.resume()
      child.stderr?.on('data', (chunk: Buffer) => {
        said += chunk.toString()
      })
      const code = await new Promise((resolve) => child.on('close', resolve))
      await cgroup?.close()
      expect([code, said]).toEqual([1, expect.stringContaining("Can't write data to file /skill/grows: No space left on device")])
    })
  },
)

describe.skipIf(!isLinux)('FolderCopy.open', () => {
  it('does not follow a link that replaces a folder or file while it reads', async () => {
    const files = (content: string) => Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`sub/${index}`, content]))
    const outside = await tempFolder({ ...files('secret'), file: 'secret' })
    const folder = await tempFolder({ ...files('own'), file: 'own' })
    const before = openFiles()
    let isOver = false
    const swap = async () => {
      for (let round = 0; !isOver; round++) {
        const name = round % 2 === 0 ? 'sub' : 'file'
        await rename(join(folder, name), join(folder, 'kept'))
        await symlink(join(outside, name), join(folder, name))
        await rm(join(folder, name))
        await rename(join(folder, 'kept'), join(folder, name))
      }
    }
    const swapping = swap()
    const contents = new Set<string>()
    const problems = new Set<string>()
    const open = async () => {
      try {
        const copy = await FolderCopy.open(folder)
        for (const { descriptor } of copy?.files ?? []) {
          const bytes = Buffer.alloc(16)
          contents.add(bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, 16, 0)))
        }
        copy?.close()
      } catch (error) {
        problems.add(messageOf(error))
      }
    }
    for (let round = 0; round < 60; round++) await open()
    isOver = true
    await swapping
    await open()
    expect([...contents]).toEqual(['own'])
    problems.delete('The script was not run: its folder could not be read, or was changed while it was read.')
    expect([...problems]).toEqual([])
    expect(openFiles()).toBeLessThanOrEqual(before)
  })

  it('refuses a folder that was reached through a link', async () => {
    const folder = await tempFolder({ 'sub/deep/file': '' })
    await symlink('sub', join(folder, 'link'))
    for (const path of ['link', 'link/deep'])
      await expect(FolderCopy.open(join(folder, path))).rejects.toThrow('The script was not run: its folder could not be read')
  })
})
