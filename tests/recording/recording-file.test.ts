import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageOf } from '../../src/core/errors.ts'
import { AgentRunner, asTool, defineTool } from '../../src/index.ts'
import { layOut } from '../../src/recording/file/layout.ts'
import { recordingFromText, recordingToText } from '../../src/recording/file/recording-file.ts'
import { requestsOf } from '../../src/recording/format.ts'
import { readRecording, recordRun, replayRun } from '../../src/recording/index.ts'
import { replayModel, replayTools, scriptedModel } from '../../src/testing/index.ts'
import { newFile, playsByteEqual, recorded } from './recorded.ts'

const hello = () => new AgentRunner({ model: scriptedModel(['Hello.']) })
const key = 'sk-abcdefghijklmnopqrstuvwx'

type Place = (string | number)[]

/** Every place in a value that has something. */
function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const place = [...at, Array.isArray(value) ? Number(key) : key]
    return [place, ...placesIn(item, place)]
  })
}

function withValueAt(value: Record<string, unknown>, place: Place, put: unknown): unknown {
  const [last = ''] = place.slice(-1)
  const holder = place.slice(0, -1).reduce<object>((inner, key) => Reflect.get(inner, key), value)
  Reflect.set(holder, last, put)
  return value
}

describe('the file of a recorded run', () => {
  it('can be replayed by its name; anything but a recording is refused with a reason', async () => {
    const file = await newFile()
    await recordRun((record) => hello().run('Hi', record), file)
    expect((await replayRun(file)).difference).toBe(undefined)
    for (const none of [undefined, 7, {}, `${file}.not`] as never[]) {
      await expect(replayRun(none)).rejects.toMatchObject({
        code: 'invalid_option',
        message: expect.stringMatching(/a recorded run|a file with/),
      })
    }
  })

  it('reads as what happened: each message once, tools by their names, no times', async () => {
    const usage = { inputTokens: 7, outputTokens: 2 }
    const tools = [defineTool({ name: 'clock', description: 'The time.', execute: () => 'noon' })]
    const runner = new AgentRunner({
      model: scriptedModel([
        { toolCalls: [{ name: 'clock' }], usage },
        { text: 'Noon.', usage },
      ]),
      tools,
      instructions: 'Be brief.',
    })
    const { text } = await recorded((record) => runner.run('What time is it?', { ...record, runId: 'run_1' }))
    expect(text.replace(/"toolloop": "[^"]*"/, '"toolloop": "0"')).toBe(`{
  "format": "toolloop run",
  "version": 1,
  "toolloop": "0",
  "runId": "run_1",
  "given": {
    "model": { "provider": "scripted", "model": "scripted-model", "capabilities": { "nativeTools": true } },
    "instructions": "Be brief.",
    "messages": [{ "role": "user", "content": "What time is it?" }],
    "earlier": 0,
    "tools": [
      {
        "name": "clock",
        "description": "The time.",
        "parameters": { "type": "object", "properties": {}, "additionalProperties": false }
      }
    ],
    "settings": { "limits": {} }
  },
  "steps": {
    "1.model": [
      {
        "request": { "kept": 2, "messages": [], "tools": ["clock"] },
        "response": {
          "text": "",
          "toolCalls": [{ "id": "call_1", "type": "function", "function": { "name": "clock", "arguments": "{}" } }],
          "finishReason": "tool_calls",
          "usage": { "inputTokens": 7, "outputTokens": 2, "totalTokens": 9 },
          "model": "scripted-model"
        },
        "stream": [["call", 0, "call_1", "clock"], ["arguments", 0, "{}"]]
      }
    ],
    "1.tool.0": { "id": "call_1", "tool": "clock", "args": {}, "outcome": "ok", "content": "noon" },
    "2.model": [
      {
        "request": {
          "kept": 2,
          "messages": [
            {
              "role": "assistant",
              "content": "",
              "toolCalls": [{ "id": "call_1", "type": "function", "function": { "name": "clock", "arguments": "{}" } }]
            },
            { "role": "tool", "content": "noon", "toolCallId": "call_1", "name": "clock" }
          ],
          "tools": ["clock"]
        },
        "response": {
          "text": "Noon.",
          "toolCalls": [],
          "finishReason": "stop",
          "usage": { "inputTokens": 7, "outputTokens": 2, "totalTokens": 9 },
          "model": "scripted-model"
        },
        "stream": [["text", "Noon", "."]]
      }
    ]
  },
  "result": {
    "stopReason": "answered",
    "text": "Noon.",
    "usage": { "inputTokens": 14, "outputTokens": 4, "totalTokens": 18 },
    "iterations": 2
  }
}
`)
  })

  it('is formatted as JSON of the same value, in short lines if possible', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = layOut(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(layOut(JSON.parse(text))).toBe(text)
      }),
    )
    for (const line of layOut({ words: Array.from({ length: 200 }, (_, n) => `word ${n}`) }).split('\n'))
      expect(line.length).toBeLessThanOrEqual(121)
  })

  it('is readable only by its owner, replaces an earlier recording as a whole, and leaves nothing beside it', async () => {
    const file = await newFile()
    await recordRun((record) => hello().run('Hi', record), file)
    const { runId } = readRecording(file)
    await recordRun((record) => hello().run('Hi', record), file)
    expect(readRecording(file).runId).not.toBe(runId)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(dirname(file))).toEqual(['run.json'])
  })

  it('is unchanged if it can’t be written, and the run’s result is not lost', async () => {
    const file = await newFile()
    await recordRun((record) => hello().run('Hi', record), file)
    const before = await readFile(file, 'utf8')
    let output: string | undefined
    const moved = `${dirname(file)}-moved`
    const failed = recordRun(async (record) => {
      ;({ output } = await hello().run('Hi', record))
      await rename(dirname(file), moved)
    }, file)
    await expect(failed).rejects.toThrow('ENOENT')
    expect(output).toBe('Hello.')
    expect(await readFile(join(moved, basename(file)), 'utf8')).toBe(before)
    expect(await readdir(moved)).toEqual([basename(file)])
    await rm(moved, { recursive: true })
  })

  it('is known not to be writable before the run starts', async () => {
    const file = await newFile()
    let isStarted = false
    const start = () => {
      isStarted = true
    }
    for (const place of [join(dirname(file), 'nowhere', 'run.json'), dirname(file), join('/proc', 'run.json')])
      await expect(recordRun(start, place)).rejects.toThrow()
    expect(isStarted).toBe(false)
  })

  it('that can’t be written does not hide an error of the caller, which comes first', async () => {
    const file = await newFile()
    const moved = `${dirname(file)}-moved`
    const failed = recordRun(async (record) => {
      await hello().run('Hi', record)
      await rename(dirname(file), moved)
      throw new Error('mine')
    }, file)
    await expect(failed).rejects.toMatchObject({
      message: expect.stringMatching(/^mine; and .*ENOENT/),
      errors: [expect.objectContaining({ message: 'mine' }), expect.objectContaining({ code: 'ENOENT' })],
    })
    await rm(moved, { recursive: true })
  })

  it('has the whole run of a stream', async () => {
    const file = await newFile()
    const stream = await recordRun((record) => hello().stream('Hi', record), file)
    expect(readRecording(file).result).toMatchObject({ stopReason: 'answered', text: 'Hello.' })
    expect((await Array.fromAsync(stream.text)).join('')).toBe('Hello.')
  })

  it('reports that nothing was recorded, or that a run is still active', async () => {
    const file = await newFile()
    await expect(recordRun(() => hello().run('Hi'), file)).rejects.toThrow(
      'that gives the run its options, and resolves when it has ended: no run was recorded',
    )
    const { promise, resolve } = Promise.withResolvers<string>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const slow = scriptedModel(() => {
      ask()
      return promise
    })
    let run: Promise<unknown> | undefined
    const early = recordRun(async (record) => {
      run = new AgentRunner({ model: slow }).run('Hi', record)
      await asked
    }, file)
    await expect(early).rejects.toThrow('that resolves when the run has ended')
    resolve('Late.')
    await run
  })

  it('is written for a run that rejects, and for one whose caller throws', async () => {
    const file = await newFile()
    const runner = new AgentRunner({ model: scriptedModel([]), throwOnError: true })
    await expect(recordRun((record) => runner.run('Hi', record), file)).rejects.toMatchObject({ code: 'provider_error' })
    expect(readRecording(file).result?.stopReason).toBe('model_error')
    const thrown = recordRun(async (record) => {
      await hello().run('Hi', record)
      throw new Error('mine')
    }, file)
    await expect(thrown).rejects.toThrow('mine')
    expect(readRecording(file).result?.stopReason).toBe('answered')
  })

  it('never replaces a file that is not a recording, and reports that before the run starts', async () => {
    const file = await newFile('package.json')
    await writeFile(file, '{"name":"mine"}')
    let isStarted = false
    const start = () => {
      isStarted = true
    }
    await expect(recordRun(start, file)).rejects.toThrow(/Expected `.*package\.json` to be a recorded run, with `"format": "toolloop run"`/)
    expect({ isStarted, text: await readFile(file, 'utf8') }).toEqual({ isStarted: false, text: '{"name":"mine"}' })
  })

  it('has no known secret, however those are given, nor does a replayed run', async () => {
    const secret = 'quux-9981'
    const given = function* () {
      yield secret
    }
    const file = await newFile()
    const runner = () => new AgentRunner({ model: scriptedModel([`The word is ${secret}.`]) })
    await recordRun((record) => runner().run('Hi', record), file, { secrets: given() })
    expect(await readFile(file, 'utf8')).not.toContain(secret)
    const plain = await recorded((record) => runner().run('Hi', record))
    const { recording } = await replayRun(plain.recording, { secrets: given() })
    expect(JSON.stringify(recording)).not.toContain(secret)
  })

  it('is compared without what has only now become a known secret', async () => {
    const { recording } = await recorded((record) =>
      new AgentRunner({ model: scriptedModel([{ text: 'Yes.', usage: { inputTokens: 5, outputTokens: 1 } }]) }).run(
        'Is it quux-9981?',
        record,
      ),
    )
    expect(JSON.stringify(recording)).toContain('quux-9981')
    const secrets = ['quux-9981']
    const replay = await replayRun(recording, { secrets })
    expect([replay.difference, JSON.stringify(replay.recording).includes('quux-9981')]).toEqual([undefined, false])
    const played = await new AgentRunner({ model: replayModel(recording, { secrets }) }).run('Is it quux-9981?')
    expect(played.output).toBe('Yes.')
  })

  it('is of one run', async () => {
    const file = await newFile()
    const two = recordRun(async (record) => {
      await hello().run('Hi', record)
      await hello().run('Hi', record)
    }, file)
    await expect(two).rejects.toThrow('Expected `start` to be a function that starts one run, not 2')
    expect(Object.keys(readRecording(file).steps)).toEqual(['1.model'])
  })

  it('says that its beginning is missing if only the resumed part was recorded, and is not replayed then', async () => {
    const risky = defineTool({ name: 'risky', description: 'Risky.', approval: true, execute: () => 'done' })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'risky' }] }, 'Done.']), tools: [risky] })
    const paused = await runner.run('go')
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const { recording } = await recorded((record) => runner.resume(paused.state, { ...record, decisions }))
    expect(recording.given.partial).toBe('what was before it was resumed is not recorded')
    await expect(replayRun(recording)).rejects.toThrow('one of a whole run (what was before it was resumed is not recorded)')
  })
})

describe('a file that is not a recording, or is damaged, is refused with a message', () => {
  it.each([
    ['', 'to be a recorded run, which is JSON'],
    ['{"format": "toolloop run", "vers', 'to be a recorded run, which is JSON'],
    ['[]', 'to be a recorded run, with `"format": "toolloop run"`'],
    ['{"openapi": "3.1.0"}', 'to be a recorded run, with `"format": "toolloop run"`, got `undefined`'],
    [
      '{"format": "toolloop run", "version": 2, "toolloop": "9.1.0"}',
      'of version 1, which this toolloop reads; it is of version 2, written by toolloop 9.1.0',
    ],
    ['{"format": "toolloop run", "version": 1, "runId": "r", "given": {}}', '`run.json: given.model` to be an object'],
  ])('%s', (text, words) => {
    expect(() => recordingFromText(text, 'run.json')).toThrow(words)
  })

  const parts = async () => {
    const tools = [defineTool({ name: 'clock', description: 'The time.', execute: () => 'noon' })]
    const model = scriptedModel([{ toolCalls: [{ name: 'clock' }] }, 'Noon.'])
    const { text } = await recorded((record) => new AgentRunner({ model, tools, approve: () => true }).run('When?', record))
    return text
  }

  it('with the expected value and its place, wherever it is damaged, and never a TypeError', async () => {
    const text = await parts()
    const places = placesIn(JSON.parse(text))
    expect(places).toContainEqual(['steps', '1.tool.0', 'args'])
    let refused = 0
    for (const place of places) {
      for (const damage of [null, 5, 'x', [], {}, [null]]) {
        const damaged = withValueAt(JSON.parse(text), place, damage)
        try {
          const recording = recordingFromText(JSON.stringify(damaged), 'run.json')
          replayModel(recording)
          replayTools(recording)
          await replayRun(recording)
        } catch (error) {
          refused++
          expect(error, `${place.join('.')} = ${JSON.stringify(damage)}`).toMatchObject({ code: expect.stringMatching(/^invalid_/) })
        }
      }
    }
    expect(refused).toBeGreaterThan(100)
    const named = (place: (string | number)[]) => () =>
      recordingFromText(JSON.stringify(withValueAt(JSON.parse(text), place, null)), 'run.json')
    expect(named(['steps', '1.model'])).toThrow('Expected `run.json: steps.1.model` to be an array, got `null`')
    expect(named(['given', 'tools', 0])).toThrow('Expected `run.json: given.tools[0]` to be an object, got `null`')
    expect(named(['steps', '2.model', 0, 'request', 'messages', 0, 'toolCalls'])).toThrow(
      '`run.json: steps.2.model[0].request.messages[0].toolCalls`',
    )
  })

  it('wherever a value is not allowed', async () => {
    const text = await parts()
    const refused = (place: (string | number)[], value: unknown) => {
      const recording = withValueAt(JSON.parse(text), place, value)
      try {
        recordingFromText(JSON.stringify(recording), 'run.json')
      } catch (error) {
        return messageOf(error)
      }
      return `${place.join('.')} = ${JSON.stringify(value)} is taken`
    }
    const is = 'Expected `run.json: '
    const call = ['steps', '1.tool.0']
    const [first, second] = [1, 2].map((turn) => ['steps', `${turn}.model`, 0]) as [(string | number)[], (string | number)[]]
    expect(refused(['given', 'earlier'], 2)).toBe(`${is}given.earlier\` to be at most 1, as many messages there are, got \`2\``)
    expect(refused([...second, 'request', 'kept'], 9)).toBe(
      `${is}steps.2.model: request.kept\` to be at most 1, as many messages the request before it has, got \`9\``,
    )
    expect(refused([...first, 'request', 'tools'], ['nope'])).toBe(
      `${is}steps.1.model: request.tools[0]\` to be the name of a tool in \`given.tools\`, or a definition, got \`"nope"\``,
    )
    expect(refused([...call, 'content'], 5)).toBe(`${is}steps.1.tool.0.content\` to be a string or an array, got \`5\``)
    expect(refused([...call, 'outcome'], 'wat')).toBe(
      `${is}steps.1.tool.0.outcome\` to be one of ok, failed, timeout, cancelled, question, rejected, got \`"wat"\``,
    )
    expect(refused([...first, 'interrupted'], 'wat')).toBe(
      `${is}steps.1.model[0].interrupted\` to be one of aborted, deadline, got \`"wat"\``,
    )
    expect(refused([...first, 'stream'], [['__defineGetter__', 'x']])).toBe(
      `${is}steps.1.model[0].stream[0][0]\` to be one of text, reasoning, call, arguments, got \`"__defineGetter__"\``,
    )
    expect(refused([...first, 'stream'], [['text', 'a', 5]])).toBe(`${is}steps.1.model[0].stream[0][2]\` to be a string, got \`5\``)
    expect(refused([...first, 'error'], { code: 'aborted', message: 5 })).toBe(
      `${is}steps.1.model[0].error.message\` to be a string, got \`5\``,
    )
    expect(refused(call, { messages: [], stops: 5 })).toBe(`${is}steps.1.tool.0.stops\` to be true, got \`5\``)
    expect(refused(['given', 'tools', 0, 'approval'], 'wat')).toBe(`${is}given.tools[0].approval\` to be true or 'by call', got \`"wat"\``)
    expect(refused(['given', 'settings', 'limits'], 'x')).toBe(`${is}given.settings.limits\` to be an object, got \`"x"\``)
  })

  it('that is nested too deeply to be read', async () => {
    for (const depth of [3_000, 200_000]) {
      const deep = (await parts()).replace('"settings": {', `"settings": { "x": ${'['.repeat(depth)}${']'.repeat(depth)},`)
      expect(() => recordingFromText(deep, 'run.json')).toThrow('Expected `run.json` to be a recorded run that is nested no deeper than')
    }
  })

  it('whose settings are invalid, and the message says that they are the recording’s', async () => {
    const text = await parts()
    const wrong = recordingFromText(JSON.stringify(withValueAt(JSON.parse(text), ['given', 'settings', 'maxIterations'], 'five')))
    await expect(replayRun(wrong)).rejects.toThrow(
      'Expected `recording: given.settings` to be settings of a run (Expected `maxIterations` to be an integer ≥ 1, got `"five"`)',
    )
  })

  it('unless it only begins with a byte order mark of an editor', async () => {
    const text = await parts()
    expect(recordingToText(recordingFromText(`\uFEFF${text}`))).toBe(text)
  })

  it('and invalid files or lists of secrets are refused before anything starts', async () => {
    for (const file of [undefined, 5, {}, new URL('https://example.com/run.json')]) {
      const start = () => expect.fail('it began')
      await expect(recordRun(start, file as never)).rejects.toThrow('Expected `file` to be a path or a file: URL')
      expect(() => readRecording(file as never)).toThrow('Expected `file` to be a path or a file: URL')
    }
    const recording = recordingFromText(await parts())
    for (const secrets of ['quux', 5, [5], [undefined]] as never[]) {
      const words = /^Expected `secrets(\[0\])?` to be (texts|a string)/
      await expect(recordRun(() => expect.fail('it began'), await newFile(), { secrets })).rejects.toThrow(words)
      await expect(replayRun(recording, { secrets })).rejects.toThrow(words)
      for (const open of [replayModel, replayTools]) expect(() => open(recording, { secrets })).toThrow(words)
    }
  })

  it('even if it is a recording in memory', async () => {
    const recording = recordingFromText(await parts())
    const damaged = { ...recording, steps: null } as never
    for (const open of [() => replayModel(damaged), () => replayTools(damaged), () => replayModel({} as never)])
      expect(open).toThrow(expect.objectContaining({ code: 'invalid_option' }))
    await expect(replayRun(damaged)).rejects.toThrow('Expected `recording: steps` to be an object')
  })

  it('whatever part of it is missing', async () => {
    const { text } = await recorded((record) => hello().run('Hi', record))
    for (const name of ['runId', 'given', 'steps']) {
      const { [name]: _, ...rest } = JSON.parse(text)
      expect(() => recordingFromText(JSON.stringify(rest))).toThrow(`\`recording: ${name}\``)
    }
    expect(recordingToText(recordingFromText(text))).toBe(text)
    expect(() => readRecording('/nowhere/run.json')).toThrow('to be a file with a recorded run')
  })
})

describe('secrets', () => {
  const login = defineTool({
    name: 'login',
    description: 'Logs in.',
    parameters: {
      type: 'object',
      properties: { user: { type: 'string' }, password: { type: 'string' }, pin: { type: 'string' } },
      required: ['user', 'password', 'pin'],
    },
    secrets: ['pin'],
    execute: ({ user, password, pin }) => ({
      user,
      said: `${password} and ${pin} are right`,
      token: 'tok-1234',
      list: [{ apiKey: 'abc-77' }],
    }),
  })

  it('are in no part of the file, and the run still replays', async () => {
    const args = { user: 'ann', password: 'hunter22', pin: '90210' }
    const model = scriptedModel([
      { text: `I log in with ${key}.`, toolCalls: [{ name: 'login', arguments: args }], usage: { inputTokens: 1, outputTokens: 1 } },
      {
        text: 'In, with hunter22, 90210 and my-known-secret.',
        reasoning: 'The pin 90210 was right.',
        usage: { inputTokens: 1, outputTokens: 1 },
      },
    ])
    const runner = new AgentRunner({ model, tools: [login], providerOptions: { metadata: { api_key: 'in-the-body' } } })
    const file = await newFile()
    await recordRun((record) => runner.run(`My key is ${key}.`, record), file, { secrets: ['my-known-secret'] })
    const text = await readFile(file, 'utf8')
    for (const secret of [key, 'hunter22', '90210', 'tok-1234', 'abc-77', 'my-known-secret', 'in-the-body', 'abcdefghij'])
      expect(text.includes(secret), secret).toBe(false)
    expect(text).toContain('"user": "ann"')
    // Names in the tool's schema are no values.
    expect(readRecording(file).given.tools[0]?.parameters.properties).toEqual(login.parameters.properties)
    const { difference, recording } = await replayRun(readRecording(file))
    expect(difference).toBeUndefined()
    expect(recordingToText(recording)).toBe(text)
  })

  it('do not change usage that was estimated from texts with secrets', async () => {
    const args = { user: 'ann', password: 'a password of many words', pin: '1' }
    const inner = () =>
      new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'login', arguments: args }] }, 'In.']), tools: [login] })
    const ask = asTool(inner(), { name: 'ask', description: 'Asks.' })
    const usage = { inputTokens: 1, outputTokens: 1 }
    const model = scriptedModel([
      { toolCalls: [{ name: 'ask', arguments: { task: 'x' } }], usage },
      { text: 'Done.', usage },
    ])
    await playsByteEqual((record) => inner().run('go', record))
    await playsByteEqual((record) => new AgentRunner({ model, tools: [ask] }).run('go', record))
  })

  it('are found if a stream has cut them', async () => {
    const chunks = ['The key is sk-abc', 'defghijk', 'lmnopqrstu', 'vwx.']
    const runner = new AgentRunner({ model: scriptedModel([{ chunks, usage: { inputTokens: 1, outputTokens: 1 } }]) })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(requestsOf(recording)[0]?.[1].stream).toEqual([['text', 'The key is [redacted].']])
  })
})
