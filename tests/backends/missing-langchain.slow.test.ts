import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

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
