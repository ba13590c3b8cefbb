import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, converse, evaluate, linesOf, pathsUnder, type Workspace } from './demo-workspace.ts'

/** Ways to name a kind of files, and the endings such files have. */
const kinds: [names: string[], endings: string[]][] = [
  [
    ['TypeScript files', 'typescript files', 'Typescript source files'.replace(' source', '')],
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
  [['.rs files', '*.rs files', 'rs files', 'files ending in .rs', 'files with the extension rs'], ['.rs']],
  [['Go files'], ['.go']],
  [['files', 'files of any kind'], ['']],
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
  { words: ['longest', 'longest one', 'one with the most lines'], measure: 'line count', sort: 'lines', best: Math.max },
  { words: ['shortest', 'one with the fewest lines'], measure: 'number of lines', sort: 'lines', best: Math.min },
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
          expect(calls[0]?.args).toMatchObject({ path: folder, sort: order.sort })
          if (there.length === 0) {
            expect(calls).toHaveLength(1)
            expect(answer).toMatch(/^There are no .*, so there is no (long|short|larg|small|bigg)est one and nothing to calculate with\.$/)
            return
          }
          const measure = (path: string) => (order.sort === 'lines' ? linesOf(path, files) : bytesOf(path, files))
          const best = order.best(...there.map(measure))
          expect(calls).toHaveLength(2)
          expect(calls[1]).toEqual({ tool: 'calculate', args: { expression: `${best}${signs}` } })
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

  it('compares any two folders', async () => {
    const named = folders.filter((folder) => folder !== '.')
    await fc.assert(
      fc.asyncProperty(
        anyWorkspace,
        fc.constantFrom(...kinds.filter(([, endings]) => endings[0] !== '')),
        fc.shuffledSubarray(named, { minLength: 2, maxLength: 2 }),
        fc.constantFrom('more', 'fewer'),
        async (files, [[kind = ''], endings], [a = '', b = ''], word) => {
          const [inA, inB] = [pathsUnder(a, endings, files).length, pathsUnder(b, endings, files).length]
          const { answer } = await converse(`Are there ${word} ${kind} under ${a} than under ${b}?`, { files })
          expect(answer.startsWith((word === 'more' ? inA > inB : inA < inB) ? 'Yes: ' : 'No: ')).toBe(true)
          const which = await converse(`Which has ${word} ${kind}, ${a} or ${b}?`, { files })
          const winner = inA === inB ? 'They are equal' : `There are ${word} under ${inA > inB === (word === 'more') ? a : b}`
          expect(which.answer.startsWith(`${winner}: `)).toBe(true)
        },
      ),
      { numRuns: 80 },
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
