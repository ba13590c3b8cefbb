import { describe, expect, expectTypeOf, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { runLoop } from '../../src/agent/loop.ts'
import type { Loop } from '../../src/agent/types/execution.ts'
import type { createAgentRunner } from '../../src/backends/index.ts'
import { openLoop } from '../../src/backends/open-loop.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

describe('S3-3 the other backend is used', () => {
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
