import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import type { Logger } from '../../src/core/logger.ts'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { recordingFromText, recordingToText } from '../../src/recording/file/recording-file.ts'
import { describeDifference, replayRun } from '../../src/recording/index.ts'
import { RecordingRecorder } from '../../src/recording/recorder.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { anyCharacter } from '../any-text.ts'

const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const text = fc.array(anyCharacter, { maxLength: 12 }).map((characters) => characters.join(''))
const args = fc.oneof(
  fc.dictionary(fc.oneof(fc.constantFrom('n', '__proto__', 'password', 'toJSON', '1'), text), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 4,
  }),
  fc.constantFrom('', '{"n":', '[1]', '{"n":1e400}', '{"n": 1, "n": 2}'),
)
const call = fc.record({
  id: fc.constantFrom(undefined, '', 'same', 'call_1', 'a/b'),
  name: fc.constantFrom('echo', 'fails', 'slow', 'nothing', 'odd name', '__proto__'),
  arguments: args.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
})
const usage = fc.constant({ inputTokens: 3, outputTokens: 1 })
const turn = fc.record(
  {
    text,
    reasoning: text,
    toolCalls: fc.array(call, { maxLength: 4 }),
    interleave: fc.boolean(),
    finishReason: fc.constantFrom('length' as const, 'stop' as const, 'refusal' as const, 'content_filter' as const),
    error: fc.constantFrom(
      new Error('odd'),
      new ModelError('rate_limited', 'too many', { provider: 'x', retryable: true, status: 429, retryAfterMs: 5, partial: { text: 'p' } }),
    ),
    usage,
  },
  { requiredKeys: ['usage'] },
)
const anything = { type: 'object', additionalProperties: true } as const

it('whatever a model sends and tools do, the run replays, and is recorded byte-equal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 5 }), fc.boolean(), text, async (turns, stream, prompt) => {
      const tools = [
        defineTool({ name: 'echo', description: 'Echoes.', parameters: anything, execute: (given) => given }),
        defineTool({ name: 'fails', description: 'Fails.', parameters: anything, execute: (given) => Promise.reject(given) }),
        defineTool({
          name: 'slow',
          description: 'Later.',
          parameters: anything,
          execute: () => new Promise((resolve) => setImmediate(resolve, 1n)),
        }),
      ]
      const recorder = new RecordingRecorder()
      const runner = new AgentRunner({ model: scriptedModel(turns), tools, stream, logger, toolConcurrency: 2 })
      await runner.run(`x${prompt}`, { recorder })
      const recording = recorder.recording()
      if (recording === undefined) return expect.fail('nothing was recorded')
      const written = recordingToText(recording)
      const { difference, recording: again } = await replayRun(recordingFromText(written))
      if (difference !== undefined) expect.fail(`${describeDifference(difference)}\n${written}`)
      expect(recordingToText(again)).toBe(written)
    }),
    { numRuns: 40 },
  )
}, 60_000)
