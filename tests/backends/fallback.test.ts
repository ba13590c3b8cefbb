import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { runLoop } from '../../src/agent/loop.ts'
import type { Loop } from '../../src/agent/types/execution.ts'
import type { createAgentRunner } from '../../src/backends/index.ts'
import { openLoop } from '../../src/backends/open-loop.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

describe('S3-3 the other backend is used', () => {
  const exec = promisify(execFile)
  /** A run with `backend: 'langchain'` in a process where `langchain` is `source`, or is missing. */
  async function runWith(
    source: string | undefined,
  ): Promise<{ output: string; stopReason: string; warnings: { error: string; message: string }[]; tools: string }> {
    const at = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href)
    const script = `
      import { registerHooks } from 'node:module'
      const source = ${JSON.stringify(source ?? null)}
      registerHooks({ resolve(name, context, next) {
        if (name !== 'langchain' && !(source === null && name.startsWith('@langchain/'))) return next(name, context)
        if (source === null) throw Object.assign(new Error("Cannot find package 'langchain'"), { code: 'ERR_MODULE_NOT_FOUND' })
        return { url: 'data:text/javascript,' + encodeURIComponent(source), shortCircuit: true }
      } })
      const { createAgentRunner, fromLangChainTools } = await import(${at('backends/index.ts')})
      const { scriptedModel } = await import(${at('testing/index.ts')})
      const warnings = []
      const logger = { debug() {}, info() {}, warn: ({ error }, message) => warnings.push({ error, message }), error: console.error }
      const runner = await createAgentRunner({ backend: 'langchain', model: scriptedModel(['hello']), logger })
      const { output, stopReason } = await runner.run('go')
      const tools = await fromLangChainTools([]).then(() => 'made', ({ code }) => code)
      console.log(JSON.stringify({ output, stopReason, warnings, tools }))`
    return JSON.parse((await exec(process.execPath, ['--input-type=module', '-e', script])).stdout)
  }

  it('S3-3 a missing package, one that lacks an export, and one that works differently: one warning, and native runs', async () => {
    const otherwise =
      'export const createMiddleware = (middleware) => middleware; export const createAgent = () => ({ invoke: async () => ({}) })'
    const all = await Promise.all([runWith(undefined), runWith('export const createAgent = 1'), runWith(otherwise)])
    for (const { output, stopReason, warnings } of all) {
      expect({ output, stopReason }).toEqual({ output: 'hello', stopReason: 'answered' })
      expect(warnings).toMatchObject([
        { message: expect.stringMatching(/^the backend `langchain` could not be loaded, `native` is used instead/) },
      ])
    }
    expect(all.map(({ tools }) => tools)).toEqual(['missing_dependency', 'made', 'made'])
    expect(all.map(({ warnings }) => warnings[0]?.error)).toEqual([
      expect.stringContaining("Cannot find package 'langchain'"),
      expect.stringContaining("does not provide an export named 'createMiddleware'"),
      expect.stringContaining("Expected LangChain's agent to do this"),
    ])
  })

  it('S3-3 a loop that is unavailable is replaced by the other, either way, with one warning', async () => {
    const fails = () => Promise.reject(new Error('no such loop'))
    const begun: string[] = []
    const works = (name: string) => async (): Promise<Loop> => {
      begun.push(name)
      return runLoop
    }
    for (const [backend, open] of [
      ['native', { native: fails, langchain: works('langchain') }],
      ['langchain', { native: works('native'), langchain: fails }],
    ] as const) {
      const { logger, records } = recordingLogger()
      const runner = new AgentRunner({ model: scriptedModel(['hello']), logger }, await openLoop(backend, { logger }, open))
      expect(await runner.run('go')).toMatchObject({ output: 'hello', stopReason: 'answered' })
      const [other] = begun.splice(0)
      expect(records).toMatchObject([
        { level: 'warn', fields: { backend, error: 'no such loop' }, message: expect.stringContaining(`\`${other}\` is used instead`) },
      ])
    }
  })

  it('S3-3 no runner is created if both loops are unavailable, or without its journal', async () => {
    const fails = () => Promise.reject(new Error('no such loop'))
    const { logger, records } = recordingLogger()
    await expect(openLoop('native', { logger }, { native: fails, langchain: () => Promise.reject(new Error('nor this')) })).rejects.toThrow(
      'no such loop',
    )
    const journal = { connect: () => expect.unreachable() }
    await expect(openLoop('native', { logger, journal }, { native: fails, langchain: async () => runLoop })).rejects.toThrow('no such loop')
    expect(records).toEqual([])
  })

  it('createAgentRunner accepts no loops from the caller', () => {
    expectTypeOf<Parameters<typeof createAgentRunner>['length']>().toEqualTypeOf<1>()
  })
})
