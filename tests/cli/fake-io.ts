import { PassThrough, Writable } from 'node:stream'
import type { CliIO } from '../../src/cli/terminal/terminal.ts'

export interface FakeIO extends CliIO {
  stdin: PassThrough & { isTTY?: boolean }
  /** The output so far. */
  out(): string
  err(): string
}

/** Variables of a machine without keys and model servers (no connection to port 1 ever succeeds). */
export const bareEnv = { OLLAMA_HOST: '127.0.0.1:1', LMSTUDIO_HOST: '127.0.0.1:1', VLLM_HOST: '127.0.0.1:1' }

/** Streams for a command that runs in this process. `tty`: all three are a terminal. */
export function fakeIO({ tty = false, env = {}, cwd = '/' }: { tty?: boolean; env?: Record<string, string>; cwd?: string } = {}): FakeIO {
  const stdin: PassThrough & { isTTY?: boolean } = new PassThrough()
  const out: string[] = []
  const err: string[] = []
  const stdout: CliIO['stdout'] = collect(out)
  const stderr: CliIO['stderr'] = collect(err)
  if (tty) for (const stream of [stdin, stdout, stderr]) stream.isTTY = true
  return { stdin, stdout, stderr, env: { ...bareEnv, ...env }, cwd, out: () => out.join(''), err: () => err.join('') }
}

function collect(into: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      into.push(String(chunk))
      done()
    },
  })
}
