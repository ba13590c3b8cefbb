import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { switchableModel } from '../../src/models/combined/switchable.ts'
import { type AnyModel, createModel, openModel } from '../../src/models/create-model.ts'
import { serverAttributes } from '../../src/telemetry/attributes.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { loadSkills } from '../../src/tools/skills/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { startTracing } from './tracing.ts'

it('an agent that is a tool has the description of that tool', async () => {
  await using tracing = startTracing()
  const { logger } = recordingLogger()
  const researcher = new AgentRunner({ model: scriptedModel(['30 euros']), logger })
  const tools = [asTool(researcher, { name: 'research', description: 'Finds things out.' })]
  const model = scriptedModel([{ toolCalls: [{ name: 'research', arguments: { task: 'the price' } }] }, 'Done.'])
  await new AgentRunner({ model, tools, logger, telemetry: telemetry({ tracer: tracing.tracer }) }).run('go')
  expect(tracing.span('invoke_agent research').attributes).toMatchObject({ 'gen_ai.agent.description': 'Finds things out.' })
  expect(tracing.span('invoke_agent').attributes).not.toHaveProperty('gen_ai.agent.description')
})

it.each([
  ['openai', 'chat_completions'],
  ['openai-responses', 'responses'],
] as const)('names the OpenAI API that was called: %s', async (provider, api) => {
  await using tracing = startTracing()
  await using mock = await startStrictProvider({ script: ['Hello.'] })
  const model = createModel({ provider, model: 'gpt-5.2', baseURL: mock.baseURL, apiKey: 'k' })
  const { logger } = recordingLogger()
  await new AgentRunner({ model, logger, telemetry: telemetry({ tracer: tracing.tracer }) }).run('go')
  expect(tracing.span('chat gpt-5.2').attributes).toMatchObject({ 'gen_ai.provider.name': 'openai', 'openai.api.type': api })
})

it('the expected server is that of the preset, the settings or the environment, for each kind of model', async () => {
  vi.stubEnv('AZURE_OPENAI_ENDPOINT', 'http://[::1]:9/')
  onTestFinished(() => void vi.unstubAllEnvs())
  const serverOf = (model: AnyModel) => serverAttributes(openModel(model).baseURL)
  const openai = { 'server.address': 'api.openai.com', 'server.port': 443 }
  expect(serverOf('openai/gpt-5.2')).toEqual(openai)
  expect(serverOf(switchableModel(fallbackModel(['openai/gpt-5.2', 'xai/grok-4'])))).toEqual(openai)
  expect(serverOf({ provider: 'openai', model: 'x', rateLimits: { concurrency: 1 } })).toEqual(openai)
  expect(serverOf('azure/any')).toEqual({ 'server.address': '::1', 'server.port': 9 })
  expect(serverOf('demo')).toEqual({})
  expect(serverOf(scriptedModel([]))).toEqual({})
  await using tracing = startTracing()
  await using mock = await startStrictProvider({ script: ['Hello.'] })
  const model = createModel({ provider: 'custom', model: 'any', baseURL: mock.baseURL, apiKey: 'k' })
  const { logger } = recordingLogger()
  const { tracer, meter } = tracing
  await new AgentRunner({ model, logger, telemetry: telemetry({ tracer, meter }) }).run('go')
  const server = { 'server.address': '127.0.0.1', 'server.port': Number(new URL(mock.baseURL).port) }
  expect(tracing.span('chat any').attributes).toMatchObject(server)
  expect((await tracing.metrics())[0]?.dataPoints[0]?.attributes).toMatchObject(server)
})

it('the server is that of the model that answered, even if another was asked first', async () => {
  await using tracing = startTracing()
  await using down = await startStrictProvider({ script: () => 'never', faults: () => ({ status: 503 }) })
  await using up = await startStrictProvider({ script: ['Hello.'] })
  const at = (baseURL: string) => createModel({ provider: 'custom', model: 'any', baseURL, apiKey: 'k', maxRetries: 0 })
  const { logger } = recordingLogger()
  const { tracer, meter } = tracing
  const model = fallbackModel([at(down.baseURL), at(up.baseURL)])
  const { text } = await new AgentRunner({ model, logger, telemetry: telemetry({ tracer, meter }) }).run('go')
  expect(text).toBe('Hello.')
  const server = { 'server.address': '127.0.0.1', 'server.port': Number(new URL(up.baseURL).port) }
  expect(tracing.span('chat any').attributes).toMatchObject(server)
  expect((await tracing.metrics())[0]?.dataPoints[0]?.attributes).toMatchObject(server)
})

it('a request reports that earlier messages were left out', async () => {
  await using tracing = startTracing()
  const { logger } = recordingLogger()
  const messages = Array.from({ length: 40 }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${at} ${'word '.repeat(40)}`,
  }))
  const runner = new AgentRunner({
    model: scriptedModel(['Hello.', 'Hello.']),
    logger,
    compaction: { maxTokens: 500 },
    telemetry: telemetry({ tracer: tracing.tracer }),
  })
  await runner.run('go')
  await runner.run('go', { messages })
  expect(
    tracing.spans().flatMap(({ name, attributes }) => (name.startsWith('chat') ? [attributes['gen_ai.conversation.compacted']] : [])),
  ).toEqual([undefined, true])
})

it('a call names the Skill that it uses', async () => {
  await using tracing = startTracing()
  const { logger } = recordingLogger()
  const folder = mkdtempSync(join(tmpdir(), 'skills-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${folder.split('/').at(-1)?.toLowerCase()}\ndescription: Greets.\n---\nSay hello.`)
  const skills = await loadSkills({ paths: [folder] })
  const [{ name = '' } = {}] = skills.skills
  const model = scriptedModel([{ toolCalls: [{ name: 'activate_skill', arguments: { name } }] }, 'Done.'])
  await new AgentRunner({ model, tools: skills.list(), logger, telemetry: telemetry({ tracer: tracing.tracer }) }).run('go')
  expect(tracing.span('execute_tool activate_skill').attributes).toMatchObject({
    'gen_ai.skill.name': name,
    'gen_ai.skill.description': 'Greets.',
  })
})

it.each([
  [0, 'ok'],
  [3, 'failed'],
] as const)('a script with a process of its own has its exit code: %i', async (code, outcome) => {
  await using tracing = startTracing()
  const { logger } = recordingLogger()
  const folder = mkdtempSync(join(tmpdir(), 'skills-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'greets', 'scripts'), { recursive: true })
  writeFileSync(join(folder, 'greets', 'SKILL.md'), '---\nname: greets\ndescription: Greets.\n---\nRun scripts/hello.sh.')
  writeFileSync(join(folder, 'greets', 'scripts', 'hello.sh'), `echo hello; exit ${code}`)
  await using skills = await loadSkills({ paths: [folder], sandbox: { allowUnsandboxed: true } })
  const call = { name: 'run_skill_script', arguments: { skill: 'greets', script: 'scripts/hello.sh' } }
  const model = scriptedModel([{ toolCalls: [call] }, 'Done.'])
  await new AgentRunner({ model, tools: skills.list(), logger, telemetry: telemetry({ tracer: tracing.tracer }) }).run('go')
  const { attributes } = tracing.span('execute_tool run_skill_script')
  expect(attributes).toMatchObject({ 'gen_ai.skill.name': 'greets', 'process.exit.code': code, 'toolloop.tool.outcome': outcome })
})

it('without @opentelemetry/api, the error names the package to install', () => {
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => {
      if (name.startsWith('@opentelemetry')) throw Object.assign(new Error('x'), { code: 'MODULE_NOT_FOUND' })
      return next(name, context)
    } })
    await import(${JSON.stringify(new URL('../../src/telemetry/index.ts', import.meta.url))})
      .catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`
  const told: unknown = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
  expect(told).toEqual({ code: 'missing_dependency', message: expect.stringContaining('npm install @opentelemetry/api') })
})
