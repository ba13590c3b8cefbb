import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { bareEnv } from './fake-io.ts'
import { shownOn } from './shown-on.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Node.js can't open a terminal itself. */
export const hasTerminal: boolean = spawnSync('python3', ['-c', 'import pty']).status === 0
if (!hasTerminal) console.warn('SKIPPED: the chat is not tested on a real terminal, there is no python3 here to open one')

/** Runs a command on a new terminal, and connects that to standard input and output. */
const bridge = `
import fcntl, os, pty, select, struct, sys, termios
rows, columns = int(sys.argv[1]), int(sys.argv[2])
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
inputs = [master, 0, 3]
while master in inputs:
    for ready in select.select(inputs, [], [])[0]:
        if ready == 3:
            size = os.read(3, 64).split()
            if size:
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', int(size[0]), int(size[1]), 0, 0))
            else:
                inputs.remove(3)
            continue
        try:
            data = os.read(ready, 65536)
        except OSError:
            data = b''
        if not data:
            inputs.remove(ready)
        elif ready == master:
            os.write(1, data)
        else:
            while data:
                data = data[os.write(master, data):]
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`

export interface TerminalSession {
  type(keys: string): void
  /** Everything that has been written to the terminal. */
  screen(): string
  /** Resolves when the terminal shows \`text\`, on one line or several, with any styles. */
  displays(text: string): Promise<void>
  /** Resizes the terminal. */
  resize(rows: number, columns: number): void
  /** Resolves when the terminal has received \`text\` \`times\` times. */
  shows(text: string | RegExp, times?: number): Promise<void>
  /** Resolves when the last line of the terminal is this question, to which a text can be typed. */
  asks(question: string): Promise<void>
  ended: Promise<number | null>
  /** The command's own process. */
  pid(): number
  /** Ends a chat with Ctrl-D at its next prompt, which is the first to react to it. Resolves with the exit code. */
  leaves(): Promise<number | null>
}

export interface TerminalOptions {
  cwd: string
  env?: Record<string, string>
  rows?: number
  columns?: number
}

/** Starts the real command line on its own terminal. */
export function startOnTerminal(args: readonly string[], { cwd, env = {}, rows = 40, columns = 100 }: TerminalOptions): TerminalSession {
  const child = spawn('python3', ['-c', bridge, String(rows), String(columns), process.execPath, main, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      HOME: cwd,
      TERM: 'xterm-256color',
      NO_COLOR: '1',
      ...bareEnv,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const sizes = child.stdio[3] as Writable
  sizes.on('error', () => {})
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  let size = { rows, columns }
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    screen += piece
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const type = (keys: string) => void child.stdin.write(keys)
  return {
    type,
    screen: () => screen,
    displays: (text) => expect.poll(() => shownOn(screen, size).join('\n'), { timeout: 60_000, interval: 10 }).toContain(text),
    resize: (newRows, newColumns) => {
      size = { rows: newRows, columns: newColumns }
      sizes.write(`${newRows} ${newColumns}`)
    },
    shows: (text, times = 1) =>
      expect.poll(() => screen.split(text).length - 1, { timeout: 60_000, interval: 10 }).toBeGreaterThanOrEqual(times),
    asks: (question) =>
      expect.poll(() => shownOn(screen, size).join('\n').trimEnd().split('\n').at(-1), { timeout: 60_000, interval: 10 }).toBe(question),
    ended,
    pid: () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()),
    async leaves() {
      const pressing = setInterval(() => type('\x04'), 100)
      try {
        return await ended
      } finally {
        clearInterval(pressing)
      }
    },
  }
}
