import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { redactText } from '../../core/redaction/redact.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Maximum number of characters of output that the model gets. If the output is longer, the model gets only the end of the output. */
const mostOutput = 16_384
/**
 * Timeouts in milliseconds. `lastOutputMs`: how long to wait for more output after the command has ended. `endMs`: how long a command may
 * take to end after it was signalled.
 */
const lastOutputMs = 200
const endMs = 2_000

/**
 * Runs a shell command that the person at the terminal has typed. The command runs in `folder`. The output is shown, but the command can't
 * read from the terminal. Resolves with a text for the model that describes the command and its output, without secrets. If `signal` is
 * aborted, ends the command and all processes that it has started.
 */
export async function runShellCommand(command: string, folder: string, terminal: Terminal, signal: AbortSignal): Promise<string> {
  const { env } = terminal.io
  const child =
    process.platform === 'win32'
      ? spawn(command, { cwd: folder, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn(env.SHELL || 'sh', ['-c', command], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const lines = new PassThrough()
  const reader = createInterface({ input: lines })
  reader.on('line', (line) => {
    terminal.row(line)
    output = `${output}${line}\n`
    if (output.length > 2 * mostOutput) output = output.slice(-mostOutput)
  })
  const read = once(reader, 'close')
  const pipes = [child.stdout, child.stderr]
  for (const pipe of pipes) pipe.on('data', (piece) => lines.write(piece))
  const end = () => void endAll(child)
  const endNow = () => kill(child, 'SIGKILL')
  process.once('exit', endNow)
  signal.addEventListener('abort', end, { once: true })
  let ending: string
  try {
    const [code, killedBy] = await once(child, 'exit')
    ending = killedBy === null ? `exit ${code}` : `ended by ${killedBy}`
    // Waits only briefly for the output to end, because a process that the command has left running may keep the output open.
    await Promise.race([once(child, 'close'), setTimeout(lastOutputMs)])
  } finally {
    process.off('exit', endNow)
    signal.removeEventListener('abort', end)
    for (const pipe of pipes) pipe.removeAllListeners('data').destroy()
    lines.end()
    await read
  }
  if (ending !== 'exit 0') terminal.note(terminal.paint('yellow', ending))
  const shown = output.length > mostOutput ? `…${output.slice(-mostOutput)}` : output
  return redactText(`<command line=${JSON.stringify(command)} ending=${JSON.stringify(ending)}>\n${shown}</command>`)
}

async function endAll(child: ChildProcess): Promise<void> {
  kill(child, 'SIGTERM')
  await setTimeout(endMs, undefined, { ref: false })
  if (child.exitCode === null && child.signalCode === null) kill(child, 'SIGKILL')
}

/** Sends a signal to a command and to everything that the command has started. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform === 'win32' || child.pid === undefined) child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // The error is ignored: the command has already ended.
  }
}
