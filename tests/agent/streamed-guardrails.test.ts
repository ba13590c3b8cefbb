import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { ModelError } from '../../src/core/errors.ts'
import type { ChatModel, ModelSink } from '../../src/models/chat-model.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { loopModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { stage } from '../hazards/stage.ts'

const { logger } = recordingLogger()
const told = () => {
  const texts: string[] = []
  return { texts, guardrail: { name: 'watch', stream: 'sentences', output: ({ text }) => void texts.push(text) } satisfies Guardrail }
}

/** A model that says one piece after the other; `!` breaks off. */
function saying(...answers: string[][]) {
  const model: ChatModel = {
    provider: 'own',
    model: 'own',
    capabilities: { nativeTools: true },
    generate: async (_request, sink?: ModelSink) => {
      const pieces = answers.shift() ?? []
      for (const piece of pieces) {
        sink?.text?.(piece)
        await new Promise((resolve) => setImmediate(resolve))
        if (piece === '!') throw new ModelError('stream_cut', 'cut', { provider: 'own', retryable: false })
      }
      return { text: pieces.join(''), toolCalls: [], finishReason: 'stop' }
    },
  }
  return model
}

const run = (answers: string[][], options: Omit<RunnerOptions, 'model'>) =>
  new AgentRunner({ model: saying(...answers), logger, ...options })

describe.each(loopModes)('a checked answer: $name', (mode) => {
  it('P2.8 `stream: sentences` shows each sentence once it has passed, before the response has ended', async () => {
    const { texts, guardrail } = told()
    const answer = 'One is here. Two is here! Three is here? And four.'
    await using on = await stage(mode, [answer], { guardrails: [guardrail] })
    const shown: string[] = []
    const result = await on.run('go', { onText: (text: string) => shown.push(text) } as object)
    expect(result).toMatchObject({ stopReason: 'answered', output: answer })
    expect(texts).toEqual(['One is here. ', 'Two is here! ', 'Three is here? ', 'And four.'])
    expect(shown.join('')).toBe(answer)
  })
})

describe('output guardrails that check a stream', () => {
  it('P2.8 a long checked answer streams: most of it is shown before the response ends', async () => {
    const sentences = Array.from({ length: 300 }, (_, at) => `This is sentence number ${at}. `)
    let shownBeforeEnd = 0
    let shown = ''
    const model = saying(sentences)
    const watched: ChatModel = {
      ...model,
      generate: async (request, sink) => {
        const response = await model.generate(request, sink)
        shownBeforeEnd = shown.length
        return response
      },
    }
    const { guardrail } = told()
    const runner = new AgentRunner({ model: watched, logger, guardrails: [guardrail] })
    const { output } = await runner.run('go', {
      onText: (text) => {
        shown += text
      },
    })
    expect([shown, output]).toEqual([sentences.join(''), sentences.join('')])
    expect(shownBeforeEnd).toBeGreaterThan(sentences.join('').length * 0.9)
  })

  it('P2.8 `{ window }` gives the characters before the new ones, which can’t be changed any more', async () => {
    const texts: string[] = []
    const guardrail: Guardrail = { name: 'w', stream: { window: 4 }, output: ({ text }) => void texts.push(text) }
    expect((await run([['abcdefghij']], { guardrails: [guardrail] }).run('go')).output).toBe('abcdefghij')
    expect(texts).toEqual(['abcd', 'abcdefgh', 'efghij'])
    const changing: Guardrail = { ...guardrail, output: ({ text }) => (text === 'abcdefgh' ? { replace: 'ABcdefgh' } : undefined) }
    const result = await run([['abcdefghij']], { guardrails: [changing], outputRetries: 0 }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused' })
    const masking: Guardrail = { ...guardrail, output: ({ text }) => ({ replace: text.replace('ef', '**') }) }
    expect((await run([['abcdefghij']], { guardrails: [masking] }).run('go')).output).toBe('abcd**ghij')
  })

  it('P2.8 a refused piece is retracted if the reader supports it, and the model answers again; otherwise the run ends', async () => {
    const strict: Guardrail = {
      name: 'strict',
      stream: 'sentences',
      output: ({ text }) => (text.includes('secret') ? { refuse: 'no secrets' } : undefined),
    }
    const answers = () => [['All is well. ', 'The secret is 7. ', 'More.'], ['All is well.']]
    const stream = run(answers(), { guardrails: [strict] }).stream('go')
    let seen = ''
    const retries: unknown[] = []
    for await (const event of stream) {
      if (event.type === 'TEXT_DELTA') seen += event.text
      if (event.type === 'MODEL_RETRY') {
        retries.push([event.discards, event.errorCode])
        seen = ''
      }
    }
    expect(await stream.result).toMatchObject({ stopReason: 'answered', output: 'All is well.' })
    expect([seen, retries]).toEqual(['All is well.', [[true, 'guardrail']]])
    let text = ''
    const ended = await run(answers(), { guardrails: [strict] }).run('go', {
      onText: (delta) => {
        text += delta
      },
    })
    expect(ended).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' }, output: 'All is well. ' })
    expect(text).toBe('All is well. ')
    expect(JSON.stringify(ended.messages)).not.toContain('secret')
    // Nobody has seen any of it.
    const early = await run([['The secret is 7. ', 'More.'], ['Fine.']], { guardrails: [strict] }).run('go', { onText: () => {} })
    expect(early).toMatchObject({ stopReason: 'answered', output: 'Fine.' })
  })

  it('P2.8 `stop`, and a check that throws, end the run; the result has what passed', async () => {
    for (const output of [() => ({ stop: 'enough' }), () => Promise.reject(new Error('broken'))]) {
      let asked = 0
      const guardrail: Guardrail = { name: 'g', stream: 'sentences', output: () => (++asked === 1 ? undefined : output()) }
      const result = await run([['One. ', 'Two. ', 'Three.']], { guardrails: [guardrail] }).run('go')
      expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' }, output: 'One. ' })
      expect(asked).toBe(2)
    }
  })

  it('P2.8 one guardrail without `stream`, or an answer with a schema, is checked as a whole', async () => {
    const whole: string[] = []
    const { texts, guardrail } = told()
    const other: Guardrail = { name: 'whole', output: ({ text }) => void whole.push(text) }
    const shown: string[] = []
    await run([['One. ', 'Two.']], { guardrails: [guardrail, other] }).run('go', { onText: (text) => void shown.push(text) })
    expect([texts, whole, shown]).toEqual([['One. Two.'], ['One. Two.'], ['One. Two.']])
    const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const
    const model = scriptedModel(['{"word":"a. b."}'], { capabilities: { nativeTools: true, structuredOutput: true } as never })
    const result = await new AgentRunner({ model, logger, guardrails: [guardrail] }).run('go', { output: schema as never })
    expect(result.stopReason).toBe('answered')
    expect(texts.at(-1)).toBe('{"word":"a. b."}')
  })

  it('P2.8 several guardrails see what the one before them left; unfinished texts are checked in parts', async () => {
    const mask: Guardrail = { name: 'mask', stream: 'sentences', output: ({ text }) => ({ replace: text.replace('7', 'x') }) }
    const texts: string[] = []
    const next: Guardrail = { name: 'next', stream: { window: 1_000 }, output: ({ text }) => void texts.push(text) }
    expect((await run([['It is 7. ', 'Yes 7.']], { guardrails: [mask, next] }).run('go')).output).toBe('It is x. Yes x.')
    expect(texts).toEqual(['It is x. Yes x.'])
    const { texts: parts, guardrail } = told()
    const endless = '🙂'.repeat(2_000)
    expect((await run([[endless]], { guardrails: [guardrail] }).run('go')).output).toBe(endless)
    expect(parts.every((part) => part.isWellFormed() && part.length <= 1_001)).toBe(true)
    expect(parts.join('')).toBe(endless)
    const dots = '.'.repeat(20_000)
    expect((await run([[...dots]], { guardrails: [guardrail] }).run('go')).output).toBe(dots)
  })

  it('P2.8 the passed part of a broken-off response counts', async () => {
    const { guardrail } = told()
    const result = await run([['One. ', 'Two. ', 'Thr', '!']], { guardrails: [guardrail] }).run('go', { onText: () => {} })
    expect(result).toMatchObject({ stopReason: 'model_error' })
    expect('One. Two. '.startsWith(result.output)).toBe(true)
    expect(result.output).toContain('One. ')
  })

  it('P2.8 an invalid `stream` is refused', () => {
    for (const guardrail of [
      { name: 'g', stream: 'words', output: () => undefined },
      { name: 'g', stream: { window: 0 }, output: () => undefined },
      { name: 'g', stream: null, output: () => undefined },
      { name: 'g', stream: 'sentences' },
      { name: 'g', stream: { window: 5 }, input: () => undefined },
    ]) {
      expect(() => run([], { guardrails: [guardrail as Guardrail] })).toThrow('stream')
    }
  })
})
