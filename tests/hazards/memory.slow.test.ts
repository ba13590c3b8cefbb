import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from './recording-logger.ts'

describe('many large results', () => {
  /** Runs garbage collection, to distinguish memory that is kept from memory that is merely not collected yet. */
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')

  it('H22 results of 50 MB, turn after turn, keep memory flat', async () => {
    const turns = 9
    const heaps: number[] = []
    const fifty = 50 * 1024 * 1024
    const execute = () => {
      collect()
      heaps.push(process.memoryUsage().heapUsed + process.memoryUsage().external)
      // A rope of a repeated text takes no space until it is read; cutting it reads it.
      return heaps.length % 2 === 0 ? 'x'.repeat(fifty) : { rows: ['x'.repeat(fifty / 2), 'y'.repeat(fifty / 2)] }
    }
    const make = defineTool({ name: 'make', description: 'makes', parameters: { type: 'object' }, execute })
    const { logger } = recordingLogger()
    const model = scriptedModel(() => ({ toolCalls: [{ name: 'make', arguments: { n: heaps.length } }] }), { record: false })
    const result = await new AgentRunner({ model, tools: [make], maxIterations: turns, logger }).run('go')
    expect(result.toolCalls).toHaveLength(turns)
    // Each turn may keep its capped text: 64 KiB at one byte per character.
    const grown = (heaps.at(-1) ?? 0) - (heaps[3] ?? 0)
    expect(grown).toBeLessThan((turns - 4) * 64 * 1024 * 2 + 4 * 1024 * 1024)
  })
})
