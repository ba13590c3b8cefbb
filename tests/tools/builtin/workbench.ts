import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { defaultLogger } from '../../../src/core/logger.ts'
import { compileSchema, parametersOf } from '../../../src/tools/schema/schema.ts'
import type { AnyTool, ToolContext } from '../../../src/tools/tool.ts'

/** A folder with these files for one test, removed when the test is over. */
export function makeTree(files: Record<string, string | Buffer> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolloop-builtin-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  addFiles(folder, files)
  return folder
}

export function addFiles(folder: string, files: Record<string, string | Buffer>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

/** A named pipe, which blocks a careless reader forever. */
export function makePipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path])
}

/** Calls a tool like a run: validates its arguments first. Rejects with what the tool throws. */
export async function callTool<Result>(tool: AnyTool, args: object, signal: AbortSignal = new AbortController().signal): Promise<Result> {
  const problems = compileSchema(parametersOf(tool), tool.name)(args)
  if (problems.length > 0) throw new TypeError(problems.join('; '))
  const ctx: ToolContext = {
    context: undefined,
    signal,
    toolCallId: 'call_1',
    runId: 'run_1',
    iteration: 1,
    idempotencyKey: 'run_1.call_1',
    attempt: 1,
    logger: defaultLogger,
    progress: () => {},
  }
  return (await tool.execute?.(args as never, ctx as ToolContext<never>)) as Result
}

/** The error that a call rejects with. Fails if it does not reject. */
export async function errorOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome && outcome.error instanceof Error) return outcome.error
  throw new TypeError(`Expected the call to reject with an Error, got ${JSON.stringify(outcome)}`)
}
