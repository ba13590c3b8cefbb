import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ToolloopError } from '../../../src/core/errors.ts'
import { SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import { findIsolation } from '../../../src/tools/sandbox/process/isolation.ts'
import type { ScriptEnd } from '../../../src/tools/sandbox/sandbox.ts'
import { longestStall } from './longest-stall.ts'

const isolation = await findIsolation()
const secret = `secret-${process.pid}`
/** A process that is unique on this machine, to find it by its arguments. */
const leftBehind = `86400.${process.pid}`

/** The file name of a script, which decides what runs it, and a harmless script each for a thread and a process. */
const sandboxes = {
  vm: { file: 'attack.mjs', harmless: 'export default () => "fine"', answer: { value: 'fine' } },
  shell: { file: 'attack.sh', harmless: 'echo fine', answer: { stdout: 'fine\n' } },
  python: { file: 'attack.py' },
  node: { file: 'attack.cjs' },
} as const
type Sandbox = keyof typeof sandboxes

/** How it ended, or its error. */
type Outcome = ScriptEnd | string

interface Attack {
  scripts: Partial<Record<Sandbox, string>>
  /** Throws if the script did harm. */
  check(outcome: Outcome, sandbox: Sandbox): void | Promise<void>
  /** Runs until it is stopped, so it gets little time. */
  endless?: true
}

const stopped = (outcome: Outcome) => expect(outcome).toMatch(/ran longer than \d+ ms and was stopped/)
const failed = (words: RegExp) => (outcome: Outcome) => expect(outcome).toMatch(words)
const inVm = (body: string) => `export default async (args, host) => { ${body} }`

let port = 0

const attacks: Record<string, Attack> = {
  'an endless loop': {
    scripts: { vm: inVm('for (;;);'), python: 'while True: pass' },
    check: stopped,
    endless: true,
  },
  'an endless loop that catches what stops it': {
    scripts: {
      vm: inVm('for (;;) try { for (;;); } catch {}'),
      python: 'import signal\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except Exception: pass\nwhile True: pass',
    },
    check: stopped,
    endless: true,
  },
  'an asynchronous endless loop': {
    scripts: {
      vm: inVm('for (;;) await null'),
      python: 'import asyncio\nasync def f():\n  while True: await asyncio.sleep(0)\nasyncio.run(f())',
    },
    check: stopped,
    endless: true,
  },
  'a chain of promises without end': {
    scripts: { vm: inVm('const f = () => { for (let i = 0; i < 9; i++) Promise.resolve().then(f) }; f(); return new Promise(() => {})') },
    check: failed(/stopped|out of memory/),
    endless: true,
  },
  'a catastrophic regular expression': {
    scripts: { vm: inVm('return /^(a+)+$/.test("a".repeat(60) + "!")') },
    check: stopped,
    endless: true,
  },
  'two gigabytes of memory': {
    scripts: {
      vm: inVm('const all = []; for (let i = 0; i < 2048; i++) all.push(new Uint8Array(1 << 20).fill(1)); return all.length'),
      python: 'x = bytearray(2 << 30); print(len(x))',
      shell: 'x=$(head -c 400000000 /dev/zero | tr "\\\\0" x); echo had',
    },
    check: (outcome, sandbox) => {
      if (sandbox === 'vm') failed(/out of memory/)(outcome)
      else expect(outcome).toMatch(/MemoryError|cannot allocate|memory|stopped/)
    },
  },
  'two gigabytes of shared memory, or of files': {
    scripts: {
      vm: inVm('let text = "x"; for (;;) text += text'),
      python: 'import mmap\nkept = []\nfor _ in range(8):\n  m = mmap.mmap(-1, 1 << 28); kept.append(m)\nprint("had", len(kept))',
      shell:
        'touch /dev/x && echo had; for d in /tmp /dev/shm; do for i in $(seq 64); do head -c 1048576 /dev/zero > $d/$i || break; done; done; [ -e /tmp/64 ] || [ -e /dev/shm/64 ] || exit 9; echo had',
    },
    check: failed(/too long|memory|exit code|stopped|out of memory/i),
  },
  'deep recursion': {
    scripts: {
      vm: 'export default function f() { return f() + 1 }',
      python: 'import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1) + 1\nf(0)',
      shell: 'f() { f; }; f',
    },
    check: failed(/call stack|exit code|ended by the system|stopped/),
    endless: true,
  },
  'deep recursion in the engine': {
    scripts: { vm: inVm('return JSON.parse("[".repeat(1e6))') },
    check: failed(/call stack|nests too deeply/),
  },
  'a value nested deeper than the host can walk': {
    scripts: { vm: inVm('let value = []; for (let i = 0; i < 3000; i++) value = [value]; return value') },
    check: failed(/nested deeper than 512 levels|call stack/),
  },
  'reading /etc/passwd': {
    scripts: {
      vm: inVm('return (await import("/etc/passwd", { with: { type: "json" } })).default'),
      python: 'print(open("/etc/passwd").read())',
      shell: 'cat /etc/passwd',
      node: 'console.log(require("fs").readFileSync("/etc/passwd", "utf8"))',
    },
    check: failed(/can't be imported|No such file|ENOENT/),
  },
  'reading what lies beside its folder': {
    scripts: {
      vm: `import text from '../beside.json'\nexport default () => text`,
      python: 'print(open("/skill/../beside.json").read())',
      shell: 'cat "$SKILL_DIR/../beside.json"',
    },
    check: failed(/outside of the Skill|No such file/),
  },
  'writing outside of what is its own': {
    scripts: {
      vm: inVm('return (await import("node:fs")).writeFileSync("/tmp/x", "x")'),
      python: 'open("/skill/written", "w")',
      shell: 'for f in /skill/written /written /usr/written /etc/written; do touch $f && echo wrote $f; done; touch /skill/attack.sh',
      node: 'require("fs").writeFileSync("/skill/written", "x")',
    },
    check: failed(/can't be imported|Read-only|EROFS/),
  },
  'the environment': {
    scripts: {
      vm: inVm('return typeof process + typeof require + typeof Deno + typeof Bun'),
      python:
        'import os\nprint(dict(os.environ), open("/proc/self/environ").read(), open("/proc/1/environ").read(), open("/proc/1/cmdline").read())',
      shell: 'env; cat /proc/1/environ /proc/1/cmdline',
    },
    check: (outcome, sandbox) => {
      if (sandbox === 'vm') expect(outcome).toMatchObject({ value: 'undefined'.repeat(4) })
      else {
        const text = JSON.stringify(outcome)
        expect(text).toContain('/skill')
        expect(text).not.toContain(secret)
        expect(text).not.toContain(join(tmpdir(), 'toolloop'))
      }
    },
  },
  'the network': {
    scripts: {
      vm: inVm('return [typeof fetch, typeof WebSocket, typeof XMLHttpRequest]'),
      python: 'import socket\nsocket.create_connection(("127.0.0.1", PORT), 1)\nprint("connected")',
      shell: 'exec 3<>/dev/tcp/127.0.0.1/PORT && echo connected',
      node: 'require("net").connect(PORT, "127.0.0.1").on("connect", () => console.log("connected"))',
    },
    check: (outcome, sandbox) => {
      if (sandbox === 'vm') expect(outcome).toMatchObject({ value: ['undefined', 'undefined', 'undefined'] })
      else expect(outcome).toMatch(/refused|unreachable|ECONN|ENETUNREACH/i)
    },
  },
  'starting programs': {
    scripts: {
      vm: inVm('return (await import("node:child_process")).execSync("id").toString()'),
      // It may start the programs it sees, which are just as isolated.
      shell: 'unshare -Ur id; mount -t tmpfs none /tmp; kill -9 -1; chroot / id',
    },
    check: failed(/can't be imported|not permitted|unshare failed|ended by the system/),
  },
  'a fork bomb': {
    scripts: {
      vm: inVm('const bomb = () => Promise.all([bomb(), bomb()]); return bomb()'),
      python: 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass',
      shell: 'bomb() { bomb | bomb & }; while :; do bomb; done 2>/dev/null',
    },
    check: failed(/call stack|stopped|out of memory|exit code/),
    endless: true,
  },
  'constructor.constructor': {
    scripts: {
      vm: inVm(
        'return host.call.constructor.constructor("return typeof process + typeof globalThis.require")() + console.log.constructor("return typeof process")()',
      ),
    },
    check: (outcome) => expect(outcome).toMatchObject({ value: 'undefined'.repeat(3) }),
  },
  'changing what the host relies on in the VM': {
    scripts: {
      vm: 'JSON.stringify = () => \'{"forged": true}\'; JSON.parse = () => "forged"; Promise.prototype.then = () => {}; Array.prototype.join = Object.prototype.toString = () => { throw 1 }\nexport default (args) => { console.log("x"); return args }',
    },
    check: (outcome) => expect(outcome).toMatchObject({ value: [] }),
  },
  'prototype pollution through the result': {
    scripts: { vm: inVm(`return JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}')`) },
    check: (outcome) => {
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
      expect(typeof outcome === 'object' && Object.getPrototypeOf(outcome.value)).toBe(Object.prototype)
    },
  },
  'prototype pollution through an error': {
    scripts: {
      vm: inVm(
        'throw Object.assign(Object.create({ polluted: 1 }), { toJSON: () => ({ __proto__: { polluted: 1 } }), message: {}, code: "x", fault: "programmer" })',
      ),
    },
    check: (outcome) => {
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
      expect(outcome).toBe('tool_failed {}')
    },
  },
  'an error that never ends to be read': {
    scripts: { vm: inVm('throw Object.defineProperty(new Error(), "message", { get() { for (;;); } })') },
    check: stopped,
    endless: true,
  },
  'an error with a message that nothing in the VM cuts any more': {
    scripts: {
      vm: `String.prototype.slice = function () { return this }; String.prototype.substring = String.prototype.slice
        export default () => { throw new Error('\\u00e9'.repeat(5e6)) }`,
    },
    check: (outcome) => expect(String(outcome).length).toBeLessThan(2_100),
  },
  'errors that are made by the script’s own functions': {
    scripts: {
      vm: `const long = 'x'.repeat(5e6)
        globalThis.Error = globalThis.TypeError = function () { throw long }
        const registry = typeof FinalizationRegistry === 'function' ? new FinalizationRegistry(() => { throw long }) : undefined
        export default async (args, host) => { registry?.register({}, 1); await null; await host.call('x') }`,
    },
    check: (outcome) => expect(String(outcome).length).toBeLessThan(2_100),
  },
  'an import of a name without end': {
    scripts: { vm: inVm('return import("./" + "a/".repeat(1e6))') },
    check: (outcome) => expect(String(outcome).length).toBeLessThan(2_100),
  },
  'a flood of output': {
    scripts: {
      vm: inVm('for (let i = 0; i < 3000; i++) console.log("x".repeat(100)); return 1'),
      python: 'while True: print("x" * 10000)',
      shell: 'yes',
      node: 'for (;;) process.stdout.write("x".repeat(10000))',
    },
    check: (outcome, sandbox) => {
      if (sandbox === 'vm') expect(typeof outcome === 'object' && outcome.stdout.length).toBeLessThan(70_000)
      else expect(outcome).toMatch(/printed more than 65536 bytes/)
    },
  },
  'a result that is too long': {
    scripts: { vm: inVm('return "x".repeat(1e6)') },
    check: failed(/returned 1000002 characters/),
  },
  'a flood of calls of the host': {
    scripts: { vm: inVm('for (let i = 0; i < 1e6; i++) await host.call("x")') },
    check: failed(/may not call host tools/),
  },
  'a timer or a process left behind': {
    scripts: {
      vm: inVm('return typeof setTimeout + typeof setInterval + typeof setImmediate'),
      python: `import subprocess\nsubprocess.Popen(["setsid", "nohup", "sleep", "${leftBehind}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\nprint("started")`,
      shell: `(setsid nohup sleep ${leftBehind} >/dev/null 2>&1 &)\nsleep 0.02\necho started`,
      node: `require("child_process").spawn("sleep", ["${leftBehind}"], { detached: true, stdio: "ignore" }).unref(); setTimeout(() => console.log("started"), 20)`,
    },
    check: async (outcome, sandbox) => {
      if (sandbox === 'vm') return expect(outcome).toMatchObject({ value: 'undefined'.repeat(3) })
      expect(outcome).toMatchObject({ stdout: 'started\n' })
      await expect.poll(() => processesWith(leftBehind), { interval: 5, timeout: 10_000 }).toEqual([])
    },
  },
}

const rows = Object.entries(attacks).flatMap(([attack, { scripts }]) =>
  (Object.keys(scripts) as Sandbox[]).map((sandbox) => [sandbox, attack] as const),
)

async function processesWith(argument: string): Promise<string[]> {
  const lines = await Promise.all(
    (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return lines.filter((line) => line.split('\0').includes(argument))
}

describe('attacks', () => {
  const limits = { memoryBytes: 48 << 20, outputBytes: 65_536, processes: 16 }
  const patient = new SkillsSandboxExecutor({ limits: { ...limits, timeoutMs: 5_000 }, threads: 1 })
  const strict = new SkillsSandboxExecutor({ limits: { ...limits, timeoutMs: 150 }, threads: 1 })
  const server = createServer((socket) => socket.destroy())
  let folder = ''

  const run = async (executor: SkillsSandboxExecutor, sandbox: Sandbox, source: string): Promise<Outcome> => {
    const { file } = sandboxes[sandbox]
    await writeFile(join(folder, 'skill', file), source.replaceAll('PORT', String(port)))
    try {
      return await executor.run({ folder: join(folder, 'skill'), script: file, args: [], signal: new AbortController().signal })
    } catch (error) {
      if (!ToolloopError.isInstance(error)) throw error
      return `${error.code} ${error.message}`
    }
  }

  beforeAll(async () => {
    process.env.ATTACK_TEST_SECRET = secret
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    port = typeof address === 'object' && address !== null ? address.port : 0
    folder = await mkdtemp(join(tmpdir(), 'toolloop-attacks-'))
    await mkdir(join(folder, 'skill'))
    await writeFile(join(folder, 'beside.json'), '"secret"')
    // Readable by everyone, like installed Skills.
    for (const path of [folder, join(folder, 'skill')]) await chmod(path, 0o755)
    // The first call of all loads code, which is not what is measured.
    for (const executor of [patient, strict]) await run(executor, 'vm', sandboxes.vm.harmless)
    if (isolation.available) await run(patient, 'shell', sandboxes.shell.harmless)
  })

  afterAll(async () => {
    delete process.env.ATTACK_TEST_SECRET
    await Promise.all([patient.close(), strict.close()])
    server.close()
    await rm(folder, { recursive: true, force: true })
  })

  if (!isolation.available) console.warn(`SKIPPED: attacks on processes, since none can be shut in here: ${isolation.why}`)

  it.each(isolation.available ? rows : rows.filter(([sandbox]) => sandbox === 'vm'))(
    '%s: %s does no harm, blocks nobody, and the next script runs',
    async (sandbox, name) => {
      const attack = attacks[name]
      const script = attack?.scripts[sandbox]
      if (attack === undefined || script === undefined) throw new Error(`no attack ${name}`)
      const executor = attack.endless ? strict : patient
      // Garbage collection for other tests may also block the process, but not every time.
      let stallMs = Number.POSITIVE_INFINITY
      for (let attempt = 1; attempt <= 3 && stallMs >= 100; attempt++) {
        const attacked = await longestStall(() => run(executor, sandbox, script))
        await attack.check(attacked.value, sandbox)
        stallMs = attacked.stallMs
      }
      expect(stallMs).toBeLessThan(100)
      expect((await readdir(join(folder, 'skill'))).filter((file) => file === 'written')).toEqual([])
      // The same thread, or the fastest kind of process.
      const [next, { harmless, answer }] = sandbox === 'vm' ? [executor, sandboxes.vm] : [patient, sandboxes.shell]
      expect(await run(next, sandbox === 'vm' ? 'vm' : 'shell', harmless)).toMatchObject(answer)
    },
  )
})
