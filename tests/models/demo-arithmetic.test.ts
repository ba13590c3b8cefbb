import { describe, expect, it } from 'vitest'
import { bytesOf, converse, linesOf } from './demo-workspace.ts'

const expressions = async (request: string | readonly string[]): Promise<unknown[]> =>
  (await converse(request)).calls.filter(({ tool }) => tool === 'calculate').map(({ args }) => args.expression)

describe('arithmetic in words and signs', () => {
  it.each<[string, string, string]>([
    ['12*37', '12 * 37', '12 × 37 = 444.'],
    ['What is 12 * (3 + 4)?', '12 * (3 + 4)', '12 × (3 + 4) = 84.'],
    ["what's 2+2?", '2 + 2', '2 + 2 = 4.'],
    ['calculate sqrt(16) + 2^3', 'sqrt(16) + 2 ^ 3', 'sqrt(16) + 2 ^ 3 = 12.'],
    ['what is the square root of 144?', 'sqrt(144)', 'sqrt(144) = 12.'],
    ['7 squared', '7 ^ 2', '7 ^ 2 = 49.'],
    ['2 to the power of 10', '2 ^ 10', '2 ^ 10 = 1024.'],
    ['What is three times twenty-five?', '3 * 25', '3 × 25 = 75.'],
    ['What is two hundred and fifty divided by 4?', '250 / 4', '250 ÷ 4 = 62.5.'],
    ['What is twice a dozen?', '12 * 2', '12 × 2 = 24.'],
    ['half of 90', '90 / 2', '90 ÷ 2 = 45.'],
    ['two thirds of 90', '90 * 2 / 3', '90 × 2 ÷ 3 = 60.'],
    ['what is 15% of 240?', '240 * 15 / 100', '240 × 15 ÷ 100 = 36.'],
    ['increase 200 by 10%', '200 + 200 * (10 / 100)', '200 + 200 × (10 ÷ 100) = 220.'],
    ['reduce 200 by 10', '200 - 10', '200 - 10 = 190.'],
    ['what percentage of 80 is 20?', '20 / 80 * 100', '20 ÷ 80 × 100 = 25, so 25 %.'],
    ['20 is what percent of 80', '20 / 80 * 100', '20 ÷ 80 × 100 = 25, so 25 %.'],
    ['what is the sum of 3 and 4', '3 + 4', '3 + 4 = 7.'],
    ['What is the product of 6, 7 and 8?', '6 * 7 * 8', '6 × 7 × 8 = 336.'],
    ['What is the average of 3, 4 and 8?', '(3 + 4 + 8) / 3', '(3 + 4 + 8) ÷ 3 = 5.'],
    ['multiply 6 by 7', '6 * 7', '6 × 7 = 42.'],
    ['subtract 5 from 12', '12 - 5', '12 - 5 = 7.'],
    ['add 5 to 3', '3 + 5', '3 + 5 = 8.'],
    ['what is 1,234 plus 5.5?', '1234 + 5.5', '1234 + 5.5 = 1239.5.'],
    ['what is -5 + 3', '(-5) + 3', '(-5) + 3 = -2.'],
    ['100 / 7', '100 / 7', '100 ÷ 7 ≈ 14.285714.'],
    ['what is 3 x 4?', '3 * 4', '3 × 4 = 12.'],
    ['If I double 21, what do I get?', '21 * 2', '21 × 2 = 42.'],
  ])('%s', async (request, expression, answer) => {
    const said = await converse(request)
    expect(said.calls).toEqual([{ tool: 'calculate', args: { expression } }])
    expect(said.answer).toBe(answer)
  })
})

describe('arithmetic over what is in the workspace', () => {
  it.each<[string, string]>([
    ['What is the line count of src/index.ts plus the line count of src/legacy.js?', '12 + 5'],
    ['what is the difference between the line counts of src/index.ts and src/legacy.js', '12 - 5'],
    ['Add the number of TypeScript files under src to the number of Python files under scripts.', '3 + 7'],
    ['How many TypeScript files are under src minus how many are under tests?', '7 - 4'],
    ["What's 10 percent of the number of TypeScript files in src?", '7 * 10 / 100'],
    ['What is the size of src/index.ts divided by its line count?', `${bytesOf('src/index.ts')} / 12`],
    ['what is the total number of lines in config divided by the number of files in config?', '20 / 3'],
    ['Multiply the line count of the longest file in docs by 1.5', '60 * 1.5'],
    ['sum the line counts of src/index.ts, src/legacy.js and config/b.yml', '12 + 5 + 14'],
    ['What percentage of the TypeScript files in tests are test files?', '3 / 4 * 100'],
    ['what percentage of the TypeScript files under src have more than 10 lines?', '4 / 7 * 100'],
    ['what is README.md’s line count squared?', `${linesOf('README.md')} ^ 2`],
  ])('%s', async (request, expression) => {
    expect(await expressions(request)).toEqual([expression])
  })

  it.each<[string, string[], string]>([
    [
      'How many TypeScript files are under src and how many are under tests? Add the two counts.',
      ['7 + 4'],
      'There are 7 TypeScript files under src. There are 4 TypeScript files under tests. 7 + 4 = 11.',
    ],
    [
      'How many TypeScript files are under src, how many Python files are under scripts, and what is the product of both?',
      ['7 * 3'],
      'There are 7 TypeScript files under src. There are 3 Python files under scripts. 7 × 3 = 21.',
    ],
    [
      'Count the TypeScript files under src. Multiply the count by 3. Subtract 10 from the result. Then halve it.',
      ['7 * 3', '(7 * 3) - 10', '((7 * 3) - 10) / 2'],
      'There are 7 TypeScript files under src. 7 × 3 = 21. 21 - 10 = 11. 11 ÷ 2 = 5.5.',
    ],
    [
      'How long are src/index.ts and config/b.yml? Subtract the first number from the second.',
      ['14 - 12'],
      'src/index.ts has 12 lines. config/b.yml has 14 lines. 14 - 12 = 2.',
    ],
    [
      'Which is the longest file under src/agent and which is the shortest? What is the difference between their line counts?',
      ['48 - 3'],
      'The longest file under src/agent is src/agent/runner.ts with 48 lines. The shortest is src/agent/deep/part.mts with 3 lines. 48 - 3 = 45.',
    ],
    [
      'How many lines does the longest file under src have? And the second longest? What is the difference?',
      ['48 - 31'],
      'src/agent/runner.ts, the longest file under src, has 48 lines. The second longest file under src is src/agent/turn.ts with 31 lines. 48 - 31 = 17.',
    ],
    [
      'Give me the total number of lines of all TypeScript files under src, and divide it by the number of those files.',
      ['130 / 7'],
      'The 7 TypeScript files under src have 130 lines in total. 130 ÷ 7 ≈ 18.571429.',
    ],
    [
      'How many TypeScript files in src have more than 10 lines, and what percentage of all TypeScript files in src is that?',
      ['4 / 7 * 100'],
      'There are 4 TypeScript files with more than 10 lines under src. 4 ÷ 7 × 100 ≈ 57.142857, so 57.14 %.',
    ],
    [
      'How many TypeScript files are under src, and how many of those are under src/agent? What percentage is that?',
      ['3 / 7 * 100'],
      'There are 7 TypeScript files under src. There are 3 TypeScript files under src/agent. 3 ÷ 7 × 100 ≈ 42.857143, so 42.86 %.',
    ],
  ])('%s', async (request, wanted, answer) => {
    const said = await converse(request)
    expect(said.calls.filter(({ tool }) => tool === 'calculate').map(({ args }) => args.expression)).toEqual(wanted)
    expect(said.answer).toBe(answer)
  })

  it('asks for everything that can be known at once, so that chains stay within five steps', async () => {
    const said = await converse(
      'How many TypeScript files are under src, which is the longest, what is its line count times 37, what is half of that, and what is that plus 1?',
    )
    expect(said.steps).toBe(3)
    expect(said.answer).toContain('48 × 37 = 1776. 1776 ÷ 2 = 888. 888 + 1 = 889.')
  })

  it('says why nothing can be calculated', async () => {
    expect((await converse('10 / 0')).answer).toBe('`calculate` failed: No number: 10 / 0.')
    const { answer, calls } = await converse('What is the line count of src/gone.ts times 2?')
    expect(calls).toHaveLength(1)
    expect(answer).toBe('`list_files` failed: No such file or folder: src/gone.ts.')
  })
})
