import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../../src/core/messages.ts'
import { demoModel } from '../../src/models/demo/demo.ts'
import { anyCharacter } from '../any-text.ts'
import { bytesOf, converse, definitionsOf, evaluate, linesOf, pathsUnder, type Workspace } from './demo-workspace.ts'

const tools = definitionsOf()

/** Ways to name a kind of files, and the endings such files have. */
const kinds: [names: string[], endings: string[]][] = [
  [
    ['TypeScript files', 'typescript files', 'ts source files'.replace('ts source', 'Typescript')],
    ['.ts', '.tsx', '.mts', '.cts'],
  ],
  [
    ['Python files', 'python files'],
    ['.py', '.pyi'],
  ],
  [['Markdown files'], ['.md', '.mdx', '.markdown']],
  [
    ['YAML files', 'yaml files'],
    ['.yaml', '.yml'],
  ],
  [['JSON files'], ['.json']],
  [['.rs files', '*.rs files', 'rs files'], ['.rs']],
  [['Go files'], ['.go']],
  [['files'], ['']],
]
const folders = ['src', 'lib/core', 'tests', 'my-app', 'packages/x.y', '.']
const placeWords: ((folder: string) => string)[] = [
  (folder) => (folder === '.' ? 'in this project' : `under ${folder}`),
  (folder) => (folder === '.' ? 'in the whole repository' : `in the ${folder} folder`),
  (folder) => (folder === '.' ? 'in the project' : `in ./${folder}/`),
  (folder) => (folder === '.' ? 'here in the workspace' : `inside the directory ${folder}`),
]
const operations: ((factor: string) => [words: string, signs: string])[] = [
  (factor) => [`times ${factor}`, ` * ${factor}`],
  (factor) => [`multiplied by ${factor}`, ` * ${factor}`],
  (factor) => [`plus ${factor}`, ` + ${factor}`],
  (factor) => [`minus ${factor}`, ` - ${factor}`],
  (factor) => [`divided by ${factor}`, ` / ${factor}`],
]
const orders = [
  { words: ['longest', 'longest one'], measure: 'line count', sort: 'lines', best: Math.max },
  { words: ['shortest'], measure: 'number of lines', sort: 'lines', best: Math.min },
  { words: ['largest', 'biggest'], measure: 'size', sort: 'size', best: Math.max },
  { words: ['smallest'], measure: 'size in bytes', sort: 'size', best: Math.min },
]

const anyWorkspace: fc.Arbitrary<Workspace> = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom('src', 'src/deep/er', 'lib/core', 'lib', 'tests', 'my-app', 'packages/x.y'),
      fc.stringMatching(/^[a-z]{1,6}$/),
      fc.constantFrom('.ts', '.tsx', '.py', '.md', '.yml', '.json', '.rs', '.go', '.test.ts'),
      fc.nat({ max: 40 }),
    ),
    { minLength: 7, maxLength: 40, selector: ([folder, name, ending]) => `${folder}/${name}${ending}` },
  )
  .map((files) => {
    const there: Workspace = Object.fromEntries(
      files.map(([folder, name, ending, lines]) => [`${folder}/${name}${ending}`, 'some line\n'.repeat(lines)]),
    )
    // Every folder that is asked about exists.
    for (const folder of folders) if (folder !== '.') there[`${folder}/LICENSE`] = 'text\n'
    return there
  })

describe('any folder, kind, order and operation', () => {
  it('counts, finds the extreme one, and calculates', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyWorkspace,
        fc.constantFrom(...kinds).chain(([names, endings]) => fc.tuple(fc.constantFrom(...names), fc.constant(endings))),
        fc.constantFrom(...folders),
        fc.constantFrom(...placeWords),
        fc.constantFrom(...orders).chain((order) => fc.tuple(fc.constant(order), fc.constantFrom(...order.words))),
        fc.constantFrom(...operations),
        fc.oneof(
          fc.integer({ min: 1, max: 99 }),
          fc.integer({ min: 1, max: 999 }).map((n) => n / 8),
        ),
        async (files, [kind, endings], folder, place, [order, word], operation, factor) => {
          const [words, signs] = operation(String(factor))
          const request = `How many ${kind} are ${place(folder)}, which is the ${word}, and what is its ${order.measure} ${words}?`
          const there = pathsUnder(folder, endings, files)
          const { answer, calls } = await converse(request, { files })
          expect(calls[1]?.args).toMatchObject({ path: folder, sort: order.sort })
          if (there.length === 0) {
            expect(calls.map(({ tool }) => tool)).toEqual(['list_files', 'list_files'])
            expect(answer).toMatch(/^There are no .* files in .*\.$/)
            return
          }
          const measure = (path: string) => (order.sort === 'lines' ? linesOf(path, files) : bytesOf(path, files))
          const best = order.best(...there.map(measure))
          expect(calls.at(-1)).toEqual({ tool: 'calculate', args: { expression: `${best}${signs}` } })
          expect(answer).toMatch(new RegExp(`^There (is|are) ${there.length} `))
          const winners = there.filter((path) => measure(path) === best)
          expect(winners.some((path) => answer.includes(path))).toBe(true)
          const result = evaluate(`${best}${signs}`)
          expect(answer).toContain(Number.isInteger(result) ? ` ${result}.` : ` ${Number(result.toFixed(6))}.`)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('calculates any expression of numbers as it is written', async () => {
    const number = fc
      .oneof(
        fc.nat({ max: 9999 }),
        fc.integer({ min: 1, max: 9999 }).map((n) => n / 16),
      )
      .map(String)
    const expression = fc.letrec<{ sum: string }>((tie) => ({
      sum: fc.oneof(
        { maxDepth: 3 },
        number,
        fc.tuple(tie('sum'), fc.constantFrom('+', '-', '*'), tie('sum')).map(([a, sign, b]) => `${a} ${sign} ${b}`),
        tie('sum').map((inner) => `(${inner})`),
      ),
    })).sum
    await fc.assert(
      fc.asyncProperty(fc.tuple(expression, expression), async ([a, b]) => {
        const { calls } = await converse(`What is ${a} + ${b}?`)
        const written = String(calls[0]?.args.expression)
        // The same value: brackets without need may go, and none may be lost.
        expect(evaluate(written)).toBeCloseTo(evaluate(`${a} + ${b}`), 6)
      }),
      { numRuns: 200 },
    )
  })
})

const words = fc.constantFrom(
  ...`how many TypeScript files are under src which is the longest and what its line count times 37 of those in tests ? . , ( ) * + / "foo" 'bar' \`x\`
  README.md *.ts .ts ./a/b call weather with {"city":1} fetch https://example.com a b list show read first last 10 lines more fewer than between 3 5 or
  half sum difference both them it that mention TODO where used compare not excluding every newest day Tokyo percent %`.split(/\s+/),
)
const prose = fc.array(words, { maxLength: 40 }).map((list) => list.join(' '))
const anyRequest = fc.oneof(prose, fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ unit: anyCharacter, maxLength: 100 }))
const anyResult = fc.oneof(
  fc.json(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '',
    '{"count":1,"files":[{"path":"a","bytes":1}]}',
    '{"result":3}',
    '{"matches":[],"count":0,"files":0}',
    '{"text":"a","path":"a"}',
  ),
)

it('never throws and always comes to an answer, whatever is asked and whatever tools say', async () => {
  const offered = [...tools, ...definitionsOf(['weather'])]
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRequest, { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.tuple(anyResult, fc.boolean())),
      async (requests, results) => {
        const messages: ChatMessage[] = []
        for (const content of requests) {
          messages.push({ role: 'user', content })
          for (let step = 0; ; step++) {
            expect(step).toBeLessThan(8)
            const response = await demoModel().generate({ messages, tools: offered })
            if (response.toolCalls.length === 0) {
              expect(response.text).not.toBe('')
              messages.push({ role: 'assistant', content: response.text })
              break
            }
            messages.push({ role: 'assistant', content: '', toolCalls: response.toolCalls })
            for (const call of response.toolCalls) {
              expect(() => JSON.parse(call.function.arguments)).not.toThrow()
              const [content, isError] = results.next().value
              messages.push({ role: 'tool', toolCallId: call.id, content, ...(isError ? { isError } : {}) })
            }
          }
        }
      },
    ),
    { numRuns: 300 },
  )
})

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
  'H14 %s is a word like any other, and a name',
  async (name) => {
    for (const content of [
      name,
      `what is ${name}?`,
      `read ${name}`,
      `call read_file ${name}=1`,
      `read_file ${name}: "x"`,
      `weather ${name}`,
    ]) {
      const messages: ChatMessage[] = [{ role: 'user', content }]
      const { text, toolCalls } = await demoModel().generate({ messages, tools: [...tools, ...definitionsOf(['weather'])] })
      expect(text !== '' || toolCalls.length > 0, content).toBe(true)
    }
  },
)

it('reads long and repetitive text in bounded time', async () => {
  const parts = [
    'how many files and ',
    'the sum of ',
    '(',
    '"',
    '/a',
    '1,',
    'half of the double ',
    'call list_files(',
    "'x ",
    'a.b/',
    '*.{',
    'not ',
    '- x\n',
  ]
  for (const part of parts) {
    const started = performance.now()
    await demoModel().generate({
      messages: [{ role: 'user', content: part.repeat(2_000).slice(0, 2_000) }],
      tools,
    })
    // Far above what it takes (about 0.2 s at most), far below what anything exponential would.
    expect(performance.now() - started).toBeLessThan(5_000)
  }
  const { answer, calls } = await converse(`How many files are there? ${'x '.repeat(5_000)}`)
  expect(calls).toEqual([])
  expect(answer).toMatch(/^I can't answer “/)
})
