import fc from 'fast-check'
import picomatch from 'picomatch'
import { describe, expect, it } from 'vitest'
import {
  bothKinds,
  globOf,
  isOfKind,
  type Kind,
  kindOfEnding,
  kindOfGlob,
  kindOfName,
  kindOfWord,
} from '../../src/models/demo/reading/kinds.ts'
import { Clause, phrase } from '../../src/models/demo/reading/phrases.ts'
import { literal, type Sign, type Term, writeTerm } from '../../src/models/demo/reading/terms.ts'
import { tokenise } from '../../src/models/demo/reading/tokens.ts'
import { anyCharacter } from '../any-text.ts'
import { evaluate } from './demo-workspace.ts'

const shown = (text: string) => tokenise(text).map(({ kind, text: own, word }) => `${kind}:${kind === 'word' ? word : own}`)

describe('tokenise', () => {
  it.each<[string, string[]]>([
    ["What's in README.md?", ['word:what', 'word:is', 'word:in', 'path:README.md', 'stop:?']],
    ["don't open src/a-b.ts, please.", ['word:do', 'word:not', 'word:open', 'path:src/a-b.ts', 'comma:,', 'word:please', 'stop:.']],
    ['*.ts or .tsx under ./src/.', ['glob:*.ts', 'word:or', 'ending:.tsx', 'word:under', 'path:./src/', 'stop:.']],
    ['files under . and ../x', ['word:files', 'word:under', 'path:.', 'word:and', 'path:../x']],
    [
      '12*(3+4)^-2',
      ['number:12', 'operator:*', 'open:(', 'number:3', 'operator:+', 'number:4', 'close:)', 'operator:^', 'operator:-', 'number:2'],
    ],
    [
      '1,234.5 KB is 10KB, 15% of 2024-notes.md',
      [
        'number:1,234.5',
        'word:kb',
        'word:is',
        'number:10',
        'word:kb',
        'comma:,',
        'number:15',
        'operator:%',
        'word:of',
        'path:2024-notes.md',
      ],
    ],
    ['twenty-five and two hundred and fifty and 3 million', ['number:25', 'word:and', 'number:250', 'word:and', 'number:3000000']],
    ['three four', ['number:3', 'number:4']],
    [`'foo bar' "a 'b'" \`c\` “d”`, ['quoted:foo bar', "quoted:a 'b'", 'quoted:c', 'quoted:d']],
    [
      "the files' sizes and the file's size",
      ['word:the', 'word:files', 'word:sizes', 'word:and', 'word:the', 'word:file', "word:'s", 'word:size'],
    ],
    ['see https://example.com/a?b=1. Then', ['word:see', 'url:https://example.com/a?b=1', 'stop:.', 'word:then']],
    ['match /a.*b/ but not /etc/', ['word:match', 'regex:a.*b', 'word:but', 'word:not', 'path:/etc/']],
    ['1. first\n2. second', ['stop:', 'word:first', 'stop:', 'word:second']],
    ['read .gitignore, e.g. now', ['word:read', 'path:.gitignore', 'comma:,', 'word:e.g', 'word:now']],
    ['non-test files', ['word:not', 'word:test', 'word:files']],
  ])('%s', (text, tokens) => {
    expect(shown(text)).toEqual(tokens)
  })

  it('never throws, and its tokens stand one after another in the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        let at = 0
        for (const { start, end } of tokenise(text)) {
          expect(start).toBeGreaterThanOrEqual(at)
          expect(end).toBeGreaterThanOrEqual(start)
          at = start
          expect(end).toBeLessThanOrEqual(text.length)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('phrases', () => {
  const clause = (text: string) => new Clause(tokenise(text))
  it('match words, classes, options, repetitions and spans', () => {
    const wanted = phrase('more|fewer than n:@number unit:@unit?')
    expect(clause('with more than 10 lines').find(wanted)?.captured.unit?.[0]?.word).toBe('lines')
    expect(clause('with more than 10').find(wanted)?.captured).not.toHaveProperty('unit.0')
    expect(clause('more of them').find(wanted)).toBeUndefined()
    const used = phrase('where is query:... used|defined')
    expect(
      clause('where is my own thing used today')
        .find(used)
        ?.captured.query?.map(({ word }) => word),
    ).toEqual(['my', 'own', 'thing'])
    expect(clause('a b a').find(phrase('a $'))?.start).toBe(2)
  })

  it('take words only once', () => {
    const both = clause('ten lines and ten lines')
    const wanted = phrase('@number @line')
    expect(both.takeEach(wanted).map(({ start }) => start)).toEqual([0, 3])
    expect(both.rest().map(({ word }) => word)).toEqual(['and'])
    expect(both.find(wanted)).toBeUndefined()
  })

  it('refuse a class that is not there', () => {
    expect(() => phrase('@nothing')).toThrow('Expected the name of a word class, got `@nothing`')
  })
})

describe('kinds', () => {
  const known = (word: string): Kind => kindOfWord(word) ?? expect.fail(`no kind ${word}`)
  it.each<[Kind[], string | undefined]>([
    [[known('typescript')], '*.{ts,tsx,mts,cts}'],
    [[known('json')], '*.json'],
    [[known('json'), known('yaml')], '*.{json,yaml,yml}'],
    [[kindOfEnding('.test.ts')], '*.test.ts'],
    [[kindOfEnding('_test.go')], '*_test.go'],
    [[kindOfName('[id].ts')], '\\[id\\].ts'],
    [[kindOfGlob('a*'), known('json')], '{*.json,a*}'],
    [[], undefined],
  ])('%j are found with %s', (kinds, glob) => {
    expect(globOf(kinds)).toBe(glob)
  })

  it('the one glob fits exactly the names the kinds fit', () => {
    const kinds = fc.uniqueArray(
      fc.constantFrom(
        ...['typescript', 'javascript', 'python', 'tests', 'json', 'images', 'markdown'].map(known),
        kindOfEnding('.test.ts'),
        kindOfName('package.json'),
        bothKinds(known('typescript'), known('tests')) ?? known('tests'),
      ),
      { minLength: 1, maxLength: 3 },
    )
    const name = fc
      .tuple(
        fc.constantFrom('a', 'test_a', 'a_test', 'package'),
        fc.constantFrom('', '.test', '.spec'),
        fc.constantFrom('.ts', '.tsx', '.py', '.json', '.md', '.png', '.x', ''),
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(kinds, name, (some, file) => {
        expect(picomatch.isMatch(file, globOf(some) ?? '*')).toBe(some.some((kind) => isOfKind(`src/${file}`, kind)))
      }),
      { numRuns: 500 },
    )
  })
})

it('terms are written with the brackets they need, and no others', () => {
  const number = fc.integer({ min: 1, max: 9 }).map((value): Term => literal(value))
  const term = fc.letrec<{ term: Term }>((tie) => ({
    term: fc.oneof(
      { maxDepth: 4 },
      number,
      fc.record({ sign: fc.constantFrom<Sign>('+', '-', '*'), left: tie('term'), right: tie('term') }),
      tie('term').map((negative): Term => ({ negative })),
    ),
  })).term
  const value = (each: Term): number => {
    if ('of' in each) return each.of === 'literal' ? each.value : Number.NaN
    if ('negative' in each) return -value(each.negative)
    if ('call' in each) return Number.NaN
    const [left, right] = [value(each.left), value(each.right)]
    return each.sign === '+' ? left + right : each.sign === '-' ? left - right : left * right
  }
  const written = (each: Term) =>
    writeTerm(each)
      .map((part) => (typeof part === 'string' ? part : part.of === 'literal' ? part.text : '?'))
      .join('')
  fc.assert(
    fc.property(term, (each) => {
      expect(evaluate(written(each))).toBe(value(each))
    }),
  )
  expect(written({ sign: '-', left: literal(9), right: { sign: '-', left: literal(5), right: literal(1) } })).toBe('9 - (5 - 1)')
  expect(written({ sign: '+', left: { sign: '*', left: literal(2), right: literal(3) }, right: literal(1) })).toBe('2 * 3 + 1')
})
