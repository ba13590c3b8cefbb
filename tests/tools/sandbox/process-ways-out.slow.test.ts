import { execFile, execFileSync } from 'node:child_process'
import { chmod, chown, mkdir, readdir, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { type SandboxOptions, SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import { findDelegatedCgroup } from '../../../src/tools/sandbox/process/cgroup.ts'
import { deniedCalls } from '../../../src/tools/sandbox/process/denied-calls.ts'
import { isOpenToAll } from '../../../src/tools/sandbox/process/host-folders.ts'
import { findIsolation, findProgram, inside } from '../../../src/tools/sandbox/process/isolation.ts'
import { watchScratch } from '../../../src/tools/sandbox/process/scratch-watch.ts'
import { tempFolder } from '../../cli/temp-folder.ts'

const isolation = await findIsolation()
const hasPython = findProgram('python3', inside.path) !== undefined
const isRoot = process.getuid?.() === 0
/** What another user can start: this checkout, and the Node.js that runs it. */
const isSeenByAll = [import.meta.dirname, dirname(process.execPath)].every(isOpenToAll)
const executors: SkillsSandboxExecutor[] = []
const column = process.arch === 'arm64' ? 1 : 0

afterEach(async () => void (await Promise.all(executors.splice(0).map((executor) => executor.close()))))

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await tempFolder(files)
  await chmod(folder, 0o755)
  return folder
}

async function run(folder: string, script: string, options: SandboxOptions = {}, args: string[] = []): Promise<string> {
  const executor = new SkillsSandboxExecutor(options)
  executors.push(executor)
  return (await executor.run({ folder, script, args, signal: new AbortController().signal })).stdout
}

const runScript = async (script: string, source: string, options: SandboxOptions = {}, args: string[] = []): Promise<string> =>
  run(await folderWith({ [script]: source }), script, options, args)

const manyFiles = 'cd /dev/shm; for i in $(seq 2000); do (cd /tmp && touch $(seq -f "$i.%g" 900)); touch $(seq -f "$i.%g" 900); done'
/** Whether there is a filter, how many there are, and that they deny calls. */
const ownState = 'echo $(grep -oP "Seccomp(_filters)?:\\s*\\K\\d" /proc/self/status); unshare -m true 2>&1 || true'
function makePipe(path: string): void {
  execFileSync(findProgram('mkfifo') ?? '', ['-m', '666', path])
}

/** Makes any system call from Python. Returns its result or the name of its error. */
const pythonCall = `import ctypes, errno, json, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
  ctypes.set_errno(0)
  result = libc.syscall(number, *[ctypes.c_ulong(arg) for arg in args])
  return result if result >= 0 else errno.errorcode[ctypes.get_errno()]
def opens(*args):
  try: socket.socket(*args).close(); return 'opened'
  except OSError as error: return errno.errorcode[error.errno]
`

describe.skipIf(!isolation.available)(`an isolated process${isolation.available ? '' : ` — SKIPPED: ${isolation.why}`}`, () => {
  it('X8 can’t read how the kernel was built and started', async () => {
    const source = 'for f in cmdline config.gz kallsyms modules version; do cat /proc/$f 2>/dev/null | head -c 10; done; echo end'
    expect((await runScript('a.sh', source)).trim()).toBe('end')
  })

  it.skipIf(!hasPython)('can’t make calls that give access to keys, other processes, mounts or uncounted memory', async () => {
    const calls = Object.values(deniedCalls).flatMap((group) =>
      Object.entries(group).flatMap(([name, numbers]) => (numbers[column] === undefined ? [] : [[name, numbers[column]] as const])),
    )
    const source = `${pythonCall}print(json.dumps({name: call(number) for name, number in json.loads(sys.argv[1])}))`
    const told: unknown = JSON.parse(await runScript('a.py', source, {}, [JSON.stringify(calls)]))
    expect(told).toEqual(Object.fromEntries(calls.map(([name]) => [name, 'EPERM'])))
  })

  it.skipIf(!hasPython)('finds no keyring, namespace, foreign memory or terminal', async () => {
    const source = `${pythonCall}import os
keyctl, memfd, shmget, unshare, clone, ioctl = json.loads(sys.argv[1])
print(json.dumps([call(keyctl, 0, 2**64 - 3), call(memfd, 0, 0), call(shmget, 0, 1 << 28, 0o1600), call(unshare, 0x10000000),
  call(clone, 0x10000000 | 17, 0, 0, 0, 0), call(clone, 0x20000 | 17, 0, 0, 0, 0), call(435, 0, 88), call(999), call(ioctl, 0, 0x5412, 0), call(ioctl, 0, 0x100005412, 0)]))`
    const numbers = column === 1 ? [219, 279, 194, 97, 220, 29] : [250, 319, 29, 272, 56, 16]
    const told: unknown = JSON.parse(await runScript('a.py', source, {}, [JSON.stringify(numbers)]))
    expect(told).toEqual(['EPERM', 'EPERM', 'EPERM', 'EPERM', 'EPERM', 'EPERM', 'ENOSYS', 'ENOSYS', 'EPERM', 'EPERM'])
  })

  it.skipIf(!hasPython)(
    'can only open sockets for unix, TCP, UDP and routing, and none with a name if it sees a folder of the host',
    async () => {
      const source = `${pythonCall}import os
pair = lambda kind: socket.socketpair(socket.AF_UNIX, kind)
def pairs(kind):
  try: pair(kind); return 'opened'
  except OSError as error: return errno.errorcode[error.errno]
families = [socket.AF_VSOCK, socket.AF_ALG, socket.AF_PACKET, socket.AF_BLUETOOTH, socket.AF_TIPC, socket.AF_CAN]
print(json.dumps([[opens(f, socket.SOCK_DGRAM) for f in families], opens(socket.AF_INET, socket.SOCK_STREAM, 132), opens(socket.AF_NETLINK, socket.SOCK_RAW, 9),
  opens(socket.AF_INET), opens(socket.AF_INET6, socket.SOCK_DGRAM), opens(socket.AF_NETLINK, socket.SOCK_RAW, 0), pairs(socket.SOCK_STREAM),
  opens(socket.AF_UNIX), pairs(socket.SOCK_DGRAM)]))`
      const told = async (options: SandboxOptions): Promise<unknown> => JSON.parse(await runScript('a.py', source, options))
      const always = [Array(6).fill('EPERM'), 'EPERM', 'EPERM', 'opened', 'opened', 'opened', 'opened']
      expect(await told({})).toEqual([...always, 'opened', 'opened'])
      expect(await told({ workspace: await folderWith({}) })).toEqual([...always, 'EPERM', 'EPERM'])
      expect(await told({ readable: ['/usr/share'] })).toEqual([...always, 'EPERM', 'EPERM'])
    },
  )

  it('has what scripts for Node.js, Python and bash need', async () => {
    const node = `const { execSync } = require('child_process')
      const { createServer } = require('http')
      const { networkInterfaces } = require('os')
      const server = createServer((request, response) => response.end('heard')).listen(0, '127.0.0.1', async () => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port)
        console.log(Object.keys(networkInterfaces()).join(), execSync('echo child').toString().trim(), await answer.text())
        server.close()
      })`
    const bash = 'cat <(echo sub); mkfifo /tmp/f; (echo through > /tmp/f &); cat /tmp/f; echo piped | cat; sleep 0 & wait'
    const python = `import asyncio, multiprocessing, subprocess, threading
def double(x): return x * 2
with multiprocessing.Pool(2) as pool: print(pool.map(double, [1, 2]))
async def main(): return await (await asyncio.create_subprocess_exec('true')).wait()
thread = threading.Thread(target=lambda: print('thread')); thread.start(); thread.join()
print(asyncio.run(main()), subprocess.run(['echo', 'child'], capture_output=True).stdout)`
    const told = await Promise.all([
      runScript('a.cjs', node),
      runScript('a.sh', bash),
      hasPython ? runScript('a.py', python, { limits: { memoryBytes: 512 << 20 } }) : undefined,
    ])
    expect(told).toEqual(['lo child heard\n', 'sub\nthrough\npiped\n', hasPython ? "[2, 4]\nthread\n0 b'child\\n'\n" : undefined])
  })

  it('is stopped if it creates very many files in memory, whose size can’t be limited', async () => {
    await expect(runScript('a.sh', manyFiles, { limits: { memoryBytes: 64 << 20 } })).rejects.toThrow(
      'The script made more than 16384 files in /tmp and /dev/shm and was stopped.',
    )
    // The maximum number alone does not end it.
    expect(await runScript('b.sh', 'cd /tmp; touch $(seq 4000); ls | wc -l', { limits: { memoryBytes: 64 << 20 } })).toBe('4000\n')
  })

  it.skipIf(!hasPython)('reaches no server through a socket in a folder it sees', async () => {
    const workspace = await folderWith({})
    const heard: string[] = []
    const server = createServer((socket) => void socket.on('data', (data) => heard.push(String(data))).on('error', () => {}))
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(join(workspace, 'agent.sock'), resolve))
    await chmod(join(workspace, 'agent.sock'), 0o777)
    const source = `${pythonCall}
try: s = socket.socket(socket.AF_UNIX); s.connect('/workspace/agent.sock'); s.send(b'out'); print('connected')
except OSError as error: print(errno.errorcode[error.errno])`
    for (const options of [{ workspace }, { workspace, workspaceWritable: true }, { readable: [workspace] }])
      expect(await runScript('a.py', source.replace('/workspace', 'readable' in options ? workspace : '/workspace'), options)).toBe(
        'EPERM\n',
      )
    expect(heard).toEqual([])
  })

  it('does not run if its folders contain a pipe or a socket to the outside', async () => {
    const [skill, workspace] = [await folderWith({ 'a.sh': 'echo ran' }), await folderWith({ 'deep/er/text': '' })]
    expect(await run(skill, 'a.sh', { workspace })).toBe('ran\n')
    makePipe(join(workspace, 'deep/er/pipe'))
    const words = 'The script was not run: "deep/er/pipe" is a pipe or a socket'
    for (const options of [{ workspace }, { workspace, workspaceWritable: true }, { readable: [workspace] }])
      await expect(run(skill, 'a.sh', options)).rejects.toThrow(words)
    const beside = await folderWith({})
    await symlink(workspace, join(beside, 'link'))
    await expect(run(skill, 'a.sh', { readable: [join(beside, 'link')] })).rejects.toThrow(words)
    expect(await run(skill, 'a.sh', { limits: { timeoutMs: 20_000.5 } })).toBe('ran\n')
    makePipe(join(skill, 'pipe'))
    await expect(run(skill, 'a.sh')).rejects.toThrow('"pipe" is a pipe or a socket')
    const other = await folderWith({ 'a.sh': 'echo ran' })
    const server = createServer()
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(join(other, 'socket'), resolve))
    await expect(run(other, 'a.sh')).rejects.toThrow('"socket" is a pipe or a socket')
  })

  it('does not run if a folder can be entered but not listed, because a pipe in it could be opened by name', async () => {
    const program = `import { chmodSync, mkdirSync } from 'node:fs'
      import { execFileSync } from 'node:child_process'
      import { refuseWaysOut } from ${JSON.stringify(new URL('../../../src/tools/sandbox/process/host-folders.ts', import.meta.url).href)}
      const [folder] = process.argv.slice(1)
      const told = (mode) => {
        chmodSync(folder + '/sub', mode)
        const bounds = { signal: new AbortController().signal, timeoutMs: 10_000 }
        return refuseWaysOut(${JSON.stringify(findProgram('find'))}, { others: [folder] }, bounds).then(() => 'none', ({ code, message }) => code + ': ' + message)
      }
      mkdirSync(folder + '/sub')
      execFileSync('mkfifo', [folder + '/sub/pipe'])
      // Written, entered, not read; then neither, where the script can open nothing.
      console.log(JSON.stringify([await told(0o311), await told(0o600), await told(0o700)]))`
    const folder = await folderWith({})
    if (isRoot) await chown(folder, 12_345, 12_345)
    const user = isRoot ? { uid: 12_345, gid: 12_345 } : {}
    const options = { ...user, cwd: '/', env: { PATH: process.env.PATH } }
    const args = ['--no-warnings', '--experimental-strip-types', '--input-type=module', '-e', program, folder]
    const { stdout } = await promisify(execFile)(process.execPath, args, options)
    const [entered, closed, open]: string[] = JSON.parse(stdout)
    expect(entered).toMatch(/^tool_denied: The script was not run: one of its folders can't be listed \(.*sub.*Permission denied\)/)
    expect(closed).toBe('none')
    expect(open).toMatch(/^tool_denied: The script was not run: "sub\/pipe" is a pipe or a socket/)
  })

  it('leaves no pipe and no socket in a writable workspace', async () => {
    const workspace = await folderWith({})
    await chmod(workspace, 0o777)
    const source = 'mkfifo /workspace/pipe; mknod /workspace/other p; mkfifo /tmp/pipe; echo x > /workspace/text; ls /workspace'
    expect(await runScript('a.sh', source, { workspace, workspaceWritable: true })).toBe('text\n')
    expect(await readdir(workspace)).toEqual(['text'])
  })

  it.skipIf(!isRoot)('gets a copy of a folder that only root can read, unreadable for other users', async () => {
    const folder = await folderWith({
      'a.sh': 'cat data/text; stat -c %a . data data/text a.sh; touch x || chmod 777 . || true',
      'data/text': 'mine',
    })
    for (const path of ['a.sh', 'data/text']) await chmod(join(folder, path), 0o600)
    for (const path of ['data', '']) await chmod(join(folder, path), 0o700)
    expect(await run(folder, 'a.sh')).toBe('mine755\n755\n444\n444\n')
  })

  /** All other tests run as the current user. */
  it.skipIf(!isRoot || !isSeenByAll)('is isolated just as well if an ordinary user starts it', async () => {
    const user = 12_345
    const folder = await folderWith({ 'data/own': 'own', 'a.sh': `cat data/own; echo; ${ownState}`, 'files.sh': manyFiles })
    for (const path of ['data/own', 'data', 'a.sh', 'files.sh', '']) {
      await chmod(join(folder, path), path === 'data' || path === '' ? 0o700 : 0o600)
      await chown(join(folder, path), user, user)
    }
    const program = `import { SkillsSandboxExecutor } from ${JSON.stringify(new URL('../../../src/tools/skills/index.ts', import.meta.url).href)}
      await using executor = new SkillsSandboxExecutor({ limits: { memoryBytes: 64 << 20 } })
      const run = (script) => executor.run({ folder: ${JSON.stringify(folder)}, script, args: [], signal: new AbortController().signal }).then((end) => end.stdout, (error) => error.message)
      console.log(JSON.stringify([process.getuid(), (await SkillsSandboxExecutor.available()).process.available, await run('a.sh'), await run('files.sh')]))`
    const options = { uid: user, gid: user, cwd: '/', env: { PATH: process.env.PATH } }
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], options)
    expect(JSON.parse(stdout)).toEqual([
      user,
      true,
      'own\n2 1\nunshare: unshare failed: Operation not permitted\n',
      'The script made more than 16384 files in /tmp and /dev/shm and was stopped.',
    ])
  })

  it.skipIf(!hasPython || findDelegatedCgroup() === undefined)(
    'has a total memory limit, including its files, if control groups are available',
    async () => {
      const source = `import os, sys, time
for _ in range(int(sys.argv[1])):
  if os.fork() == 0: held = bytearray(40 << 20); time.sleep(3); os._exit(0)
with open('/dev/shm/a', 'wb') as file:
  for _ in range(int(sys.argv[2])): file.write(bytes(1 << 20))
while True:
  try: os.wait()
  except ChildProcessError: break
print('fitted')`
      const limits = { memoryBytes: 64 << 20 }
      expect(await runScript('a.py', source, { limits }, ['3', '30'])).toBe('fitted\n')
      for (const [children, megabytes] of [
        ['7', '1'],
        ['5', '62'],
      ] as const)
        await expect(runScript('a.py', source, { limits }, [children, megabytes])).rejects.toThrow('was ended by the system')
    },
  )

  it('does not learn where Node.js is, unless that runs it', async () => {
    const mounts = await runScript('a.sh', 'cat /proc/self/mountinfo')
    expect(mounts).not.toContain('/run/node')
    expect(mounts).toContain('/skill')
  })
})

/** What a program started by `command` sees of the sandbox, and the result of its script. */
async function toldIn(command: string, ...args: string[]): Promise<[unknown, string]> {
  const folder = await folderWith({ 'files.sh': manyFiles })
  const program = `import { SkillsSandboxExecutor } from ${JSON.stringify(new URL('../../../src/tools/skills/index.ts', import.meta.url).href)}
    const executor = new SkillsSandboxExecutor({ limits: { memoryBytes: 64 << 20 } })
    const run = { folder: ${JSON.stringify(folder)}, script: 'files.sh', args: [], signal: new AbortController().signal }
    console.log(JSON.stringify([(await SkillsSandboxExecutor.available()).process, await executor.run(run).then(() => 'ran', ({ message }) => message)]))`
  const node = [process.execPath, '--no-warnings', '--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(command, [...args, ...node], { cwd: '/' })
  return JSON.parse(stdout)
}

describe.skipIf(!isRoot || !isSeenByAll || !isolation.available)('a machine on which sandboxes can’t be inspected', () => {
  it('refuses processes in advance, and says why', async () => {
    const [found, told] = await toldIn('setpriv', '--bounding-set=-sys_ptrace')
    expect(found).toMatchObject({ available: false, why: expect.stringMatching(/can't be counted here: .* CAP_SYS_PTRACE/) })
    expect(told).toMatch(/^The script was not run: .*can't be counted here/)
  })

  it('provides the sandbox and its limits to an ordinary user, whose processes are never hidden', async () => {
    const hidden = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"'
    const [found, told] = await toldIn('unshare', '--mount', 'sh', '-c', hidden, 'sh')
    expect(found).toMatchObject({ available: true })
    expect(told).toBe('The script made more than 16384 files in /tmp and /dev/shm and was stopped.')
  })

  it('does not wait for a sandbox that never starts', async () => {
    // Processes have other numbers there than in /proc.
    const [found] = await toldIn('unshare', '--pid', '--fork', '--kill-child')
    expect(found).toMatchObject({ available: false, why: expect.stringContaining('bubblewrap does not work here') })
  })
})

it('reports a watch that sees no files or no process', async () => {
  const gone = 2 ** 22 + 1
  const told = [process.pid, gone].map(
    (pid) =>
      new Promise((tell) => {
        const watch = watchScratch(Promise.resolve({ pid }), 1 << 20, tell)
        onTestFinished(() => watch[Symbol.dispose]())
      }),
  )
  expect(await Promise.all(told)).toEqual(Array(2).fill('The script was stopped: the files it makes can not be counted here.'))
})

it('refuses processes if there is no filter for the architecture, and says why', async () => {
  const folder = await folderWith({ 'a.sh': 'echo ran' })
  const program = `import { SkillsSandboxExecutor } from ${JSON.stringify(new URL('../../../src/tools/skills/index.ts', import.meta.url).href)}
    Object.defineProperties(process, { arch: { value: 'riscv64' }, platform: { value: 'linux' } })
    const run = { folder: ${JSON.stringify(folder)}, script: 'a.sh', args: [], signal: new AbortController().signal }
    console.log(await new SkillsSandboxExecutor().run(run).then(() => 'ran', (error) => error.code + ' ' + error.message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', program])
  expect(stdout).toMatch(
    /^tool_denied The script was not run: .*the filter of system calls exists for x64 and arm64 only, this is riscv64\. .*allowUnsandboxed/,
  )
})

it('reveals nothing outside of a Skill’s folder through a link, in the VM either', async () => {
  const folder = await folderWith({
    'a.mjs': 'export default ([path]) => import(path).then(() => "loaded", ({ message }) => message)',
    'in.mjs': 'export {}',
  })
  await mkdir(join(folder, 'lib'))
  await symlink('/etc/passwd', join(folder, 'there.mjs'))
  await symlink('/etc/none-such', join(folder, 'gone.mjs'))
  await symlink('../../none-such/deeper', join(folder, 'lib/up.mjs'))
  await symlink('/etc', join(folder, 'etc'))
  await symlink('in.mjs', join(folder, 'inner.mjs'))
  await symlink('none.mjs', join(folder, 'dangling.mjs'))
  await symlink('loop.mjs', join(folder, 'loop.mjs'))
  const executor = new SkillsSandboxExecutor({ threads: 1 })
  executors.push(executor)
  const tell = async (path: string) =>
    (await executor.run({ folder, script: 'a.mjs', args: [`./${path}`], signal: new AbortController().signal })).value
  for (const path of ['there.mjs', 'gone.mjs', 'lib/up.mjs', 'etc/passwd', 'etc/none-such'])
    expect(await tell(path)).toBe(`"${path}" is outside of the Skill's folder`)
  for (const path of ['none.mjs', 'dangling.mjs', 'loop.mjs', 'in.mjs/x']) expect(await tell(path)).toBe(`"${path}" does not exist`)
  expect(await tell('inner.mjs')).toBe('loaded')
})
