import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { bareEnv } from './fake-io.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface FinishedCli {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningCli {
  child: ChildProcessWithoutNullStreams
  finished: Promise<FinishedCli>
  /** Resolves when stdout contains `text`. */
  prints(text: string): Promise<void>
}

export interface StartOptions {
  cwd: string
  env?: Record<string, string>
  /** Written to stdin, which is then closed. Undefined: stdin is closed immediately. Null: it stays open. */
  input?: string | null
  /** Arguments for Node.js itself. */
  execArgv?: string[]
}

/** Starts the real command line as a separate process, in an environment without keys and model servers. */
export function startCli(args: readonly string[], { cwd, env = {}, input, execArgv = [] }: StartOptions): RunningCli {
  const child = spawn(process.execPath, [...execArgv, main, ...args], {
    cwd,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HOME: cwd, ...bareEnv, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  const waiting = new Map<() => void, string>()
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    stdout += piece
    for (const [resolve, text] of waiting) if (stdout.includes(text)) resolve()
  })
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    stderr += piece
  })
  // A command that never reads its input may have ended before it is written.
  child.stdin.on('error', () => {})
  if (input !== null) child.stdin.end(input ?? '')
  const finished = new Promise<FinishedCli>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  const prints = (text: string) =>
    new Promise<void>((resolve, reject) => {
      waiting.set(resolve, text)
      if (stdout.includes(text)) resolve()
      finished.then(() => reject(new Error(`The command ended without printing ${text}. stderr: ${stderr}`)), reject)
    })
  return { child, finished, prints }
}

/** Runs it to its end. */
export function runCli(args: readonly string[], options: StartOptions): Promise<FinishedCli> {
  return startCli(args, options).finished
}
