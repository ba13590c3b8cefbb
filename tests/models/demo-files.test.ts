import { describe, expect, it } from 'vitest'
import { bytesOf, type Call, converse, linesOf, pathsUnder, workspace } from './demo-workspace.ts'

const ts = '*.{ts,tsx,mts,cts}'
const tests = '{*.test,*.spec,*_test,*_spec,test_*}.*'
const isTypeScript = ['.ts', '.tsx', '.mts']

function list(path: string, args: Call['args'] = {}): Call {
  return { tool: 'list_files', args: { path, limit: 1, ...args } }
}

function calculate(expression: string): Call {
  return { tool: 'calculate', args: { expression } }
}

const longest = { lines: true, sort: 'lines', order: 'desc', limit: 10 }
const totalLines = (paths: readonly string[]) => paths.reduce((sum, path) => sum + linesOf(path), 0)
const totalBytes = (paths: readonly string[]) => paths.reduce((sum, path) => sum + bytesOf(path), 0)

/** What is asked, what has to be called for it in this order, and the whole answer. */
type Row = [request: string, calls: Call[], answer: string]

async function check([request, calls, answer]: Row): Promise<void> {
  const said = await converse(request)
  expect(said.calls).toEqual(calls)
  expect(said.answer).toBe(answer)
}

describe('the longest of a kind, and arithmetic with its line count', () => {
  it.each<Row>([
    [
      'How many TypeScript files are under src, which is the longest, and what is its line count times 37?',
      [list('src', { pattern: ts, ...longest }), calculate('48 * 37')],
      'There are 7 TypeScript files under src. The longest is src/agent/runner.ts with 48 lines. 48 × 37 = 1776.',
    ],
    [
      'How many Python files are in ./scripts/, which one is the longest, and what is its line count plus 0.5?',
      [list('scripts', { pattern: '*.{py,pyi}', ...longest }), calculate('31 + 0.5')],
      'There are 3 Python files under scripts. The longest is scripts/build.py with 31 lines. 31 + 0.5 = 31.5.',
    ],
    [
      'Count the YAML files in the config folder, find the shortest and divide its number of lines by 3.',
      [list('config', { pattern: '*.{yaml,yml}', ...longest, order: 'asc' }), calculate('4 / 3')],
      'There are 2 YAML files under config. The shortest is config/a.yaml with 4 lines. 4 ÷ 3 ≈ 1.333333.',
    ],
    [
      'How many JSON files are under tests, what is the biggest of them, and what is twice its size?',
      [list('tests', { pattern: '*.json', sort: 'size', order: 'desc', limit: 10 }), calculate(`${bytesOf('tests/data.json')} * 2`)],
      'There is 1 JSON file under tests. The biggest is tests/data.json with 21 bytes. 21 × 2 = 42.',
    ],
    [
      'how many *.ts files does src/tools have, which one has the most lines and how much is 37 times that number?',
      [list('src/tools', { pattern: '*.ts', ...longest }), calculate('37 * 20')],
      'There are 2 .ts files under src/tools. The longest is src/tools/tool.ts with 20 lines. 37 × 20 = 740.',
    ],
    [
      'HOW MANY TYPESCRIPT FILES ARE UNDER SRC, WHICH IS THE LONGEST, AND WHAT IS ITS LINE COUNT TIMES 37?',
      [list('src', { pattern: ts, ...longest }), calculate('48 * 37')],
      'There are 7 TypeScript files under src. The longest is src/agent/runner.ts with 48 lines. 48 × 37 = 1776.',
    ],
    [
      'Tell me how many test files there are in directory tests, the longest one, and the product of its line count and a dozen.',
      [list('tests', { pattern: tests, ...longest }), calculate('77 * 12')],
      'There are 3 test files under tests. The longest is tests/agent/runner.test.ts with 77 lines. 77 × 12 = 924.',
    ],
  ])('%s', async (...row) => check(row))

  it('says once that there are none, and what follows from it', async () => {
    const { answer, calls } = await converse(
      'How many Rust files are under src, which is the longest, and what is its line count times 37?',
    )
    expect(calls).toEqual([list('src', { pattern: '*.rs', ...longest })])
    expect(answer).toBe('There are no Rust files under src, so there is no longest one and nothing to calculate with.')
  })

  it('names all that are equally long', async () => {
    const { answer } = await converse(
      'How many Markdown files are under docs, which is the longest, and what is its line count divided by 4?',
    )
    expect(answer).toBe(
      'There are 2 Markdown files under docs. The longest ones are docs/guide.md and docs/notes/old.md, with 60 lines each. 60 ÷ 4 = 15.',
    )
  })
})

describe('counting', () => {
  it.each<Row>([
    ['How many files are there?', [list('.')], `There are ${pathsUnder('.').length} files in this project.`],
    ['count all files in docs', [list('docs')], 'There are 3 files under docs.'],
    [
      "What's the number of Markdown files in this project?",
      [list('.', { pattern: '*.{md,mdx,markdown}' })],
      'There are 3 Markdown files in this project.',
    ],
    [
      'How many images are in the docs directory?',
      [list('docs', { pattern: '*.{png,jpg,jpeg,gif,svg,webp,avif,bmp,ico,tif,tiff}' })],
      'There is 1 image file under docs.',
    ],
    ['how many tests are under tests/agent', [list('tests/agent', { pattern: tests })], 'There are 2 test files under tests/agent.'],
    [
      'How many TypeScript test files are under tests?',
      [list('tests', { pattern: '{*.test,*.spec,*_test,*_spec,test_*}.{ts,tsx,mts,cts}' })],
      'There are 3 TypeScript test files under tests.',
    ],
    ['How many files end in .spec.ts?', [list('.', { pattern: '*.spec.ts' })], 'There is 1 .spec.ts file in this project.'],
    [
      'How many files with the extension py are in scripts?',
      [list('scripts', { pattern: '*.py' })],
      'There are 3 .py files under scripts.',
    ],
    ['how many md files are in folder docs?', [list('docs', { pattern: '*.md' })], 'There are 2 .md files under docs.'],
    ['How many `*.ts` files are under `src/agent`?', [list('src/agent', { pattern: '*.ts' })], 'There are 2 .ts files under src/agent.'],
    [
      'How many TypeScript or JavaScript files are under src?',
      [list('src', { pattern: '*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}' })],
      'There are 8 TypeScript or JavaScript files under src.',
    ],
    [
      'How many TypeScript and JavaScript files are under src?',
      [list('src', { pattern: ts }), list('src', { pattern: '*.{js,jsx,mjs,cjs}' })],
      'There are 7 TypeScript files under src. There is 1 JavaScript file under src. That makes 8 together.',
    ],
    [
      'How many TypeScript files are under src and tests?',
      [list('src', { pattern: ts }), list('tests', { pattern: ts })],
      'There are 7 TypeScript files under src. There are 4 TypeScript files under tests. That makes 11 together.',
    ],
    [
      'How many TypeScript files are under src and how many Python files under scripts?',
      [list('src', { pattern: ts }), list('scripts', { pattern: '*.{py,pyi}' })],
      'There are 7 TypeScript files under src. There are 3 Python files under scripts.',
    ],
    ['How many files are directly in src?', [list('src', { recursive: false })], 'There are 2 files directly under src.'],
    [
      'How many *.json files are there at the top level?',
      [list('.', { pattern: '*.json', recursive: false })],
      'There is 1 .json file at the top of this project.',
    ],
    ['How many folders are under src?', [list('src', { folders: true })], 'There are 3 folders under src.'],
    ['Under tests, how many TypeScript files are there?', [list('tests', { pattern: ts })], 'There are 4 TypeScript files under tests.'],
    [
      'How many TypeScript (.ts) files are there in the src folder of this project?',
      [list('src', { pattern: '*.ts' })],
      'There are 5 .ts files under src.',
    ],
    [
      'Are there any Python files under scripts?',
      [list('scripts', { pattern: '*.{py,pyi}' })],
      'Yes, there are 3 Python files under scripts.',
    ],
    ['Is there a Go file in src?', [list('src', { pattern: '*.go' })], 'No, there are no Go files under src.'],
    [
      'does README.md exist?',
      [list('.', { pattern: 'README.md', limit: 20 })],
      'Yes, there is 1 file named README.md in this project: README.md.',
    ],
    [
      'Are there more than 5 TypeScript files under src?',
      [list('src', { pattern: ts })],
      'Yes: there are 7 TypeScript files under src, more than 5.',
    ],
    ['Are there at least twenty files in config?', [list('config')], 'No: there are 3 files under config, not at least 20.'],
  ])('%s', async (...row) => check(row))
})

describe('lists and orders', () => {
  it.each<Row>([
    [
      'List the YAML files under config.',
      [list('config', { pattern: '*.{yaml,yml}', limit: 100 })],
      'There are 2 YAML files under config:\n- config/a.yaml\n- config/b.yml',
    ],
    [
      'Show me the 2 largest files in src',
      [list('src', { sort: 'size', order: 'desc', limit: 11 })],
      `The 2 largest files under src:\n1. src/tools/view.tsx (${bytesOf('src/tools/view.tsx')} bytes)\n2. src/agent/runner.ts (${bytesOf('src/agent/runner.ts')} bytes)`,
    ],
    [
      'top three longest Python files',
      [list('.', { pattern: '*.{py,pyi}', lines: true, sort: 'lines', order: 'desc', limit: 12 })],
      'The 3 longest Python files in this project:\n1. scripts/build.py (31 lines)\n2. scripts/main.py (9 lines)\n3. scripts/empty.py (no lines)',
    ],
    [
      'What is the second longest TypeScript file under src?',
      [list('src', { pattern: ts, ...longest, limit: 11 })],
      'The second longest TypeScript file under src is src/agent/turn.ts with 31 lines.',
    ],
    [
      'Which file in scripts has the fewest lines?',
      [list('scripts', { ...longest, order: 'asc' })],
      'The shortest file under scripts is scripts/empty.py with no lines.',
    ],
    [
      'What are the longest and the shortest TypeScript file in src/tools?',
      [list('src/tools', { pattern: ts, ...longest }), list('src/tools', { pattern: ts, ...longest, order: 'asc' })],
      'The longest TypeScript file under src/tools is src/tools/tool.ts with 20 lines. The shortest is src/tools/view.tsx with 7 lines.',
    ],
    [
      'What is the newest file in tests?',
      [list('tests', { sort: 'modified', order: 'desc', limit: 10 })],
      'The newest file under tests is tests/data.json, last modified on 2026-01-24 at 10:30 UTC.',
    ],
    [
      'when was package.json last modified?',
      [list('.', { pattern: 'package.json', limit: 20 })],
      'package.json was last modified on 2026-01-02 at 10:30 UTC.',
    ],
    [
      'list the files in config sorted by lines, longest first',
      [list('config', { lines: true, sort: 'lines', order: 'desc', limit: 100 })],
      'There are 3 files under config:\n- config/b.yml (14 lines)\n- config/a.yaml (4 lines)\n- config/c.json (2 lines)',
    ],
    [
      'How many TypeScript files under src have more than 10 lines?',
      [list('src', { pattern: ts, ...longest, limit: 600 })],
      'There are 4 TypeScript files with more than 10 lines under src.',
    ],
    [
      'Which files under src have between 5 and 9 lines?',
      [list('src', { ...longest, limit: 600 })],
      'There are 3 files with between 5 and 9 lines under src:\n- src/tools/runner.ts (9 lines)\n- src/tools/view.tsx (7 lines)\n- src/legacy.js (5 lines)',
    ],
    [
      'How many files in scripts are empty files?',
      [list('scripts', { sort: 'size', order: 'asc', limit: 600 })],
      'There is 1 file with 0 bytes under scripts.',
    ],
    [
      'how many TypeScript files in tests are not tests',
      [list('tests', { pattern: ts, limit: 600 })],
      'There is 1 TypeScript file other than test files under tests.',
    ],
    [
      'How many non-test TypeScript files are under tests?',
      [list('tests', { pattern: ts, limit: 600 })],
      'There is 1 TypeScript file other than test files under tests.',
    ],
    [
      'find runner.ts',
      [list('.', { pattern: 'runner.ts', limit: 100 })],
      'There are 2 files named runner.ts in this project:\n- src/agent/runner.ts\n- src/tools/runner.ts',
    ],
  ])('%s', async (...row) => check(row))
})

describe('sizes and totals', () => {
  const inSrc = pathsUnder('src', isTypeScript)
  it.each<Row>([
    [
      'How many lines do the TypeScript files under src have in total?',
      [list('src', { pattern: ts, lines: true })],
      `The 7 TypeScript files under src have ${totalLines(inSrc)} lines in total.`,
    ],
    [
      'how many lines of Python are there?',
      [list('.', { pattern: '*.{py,pyi}', lines: true })],
      'The 3 Python files in this project have 40 lines in total.',
    ],
    [
      'What is the average line count of the Python files in scripts?',
      [list('scripts', { pattern: '*.{py,pyi}', lines: true })],
      'The 3 Python files under scripts have 13.333333 lines on average.',
    ],
    ['how big is config?', [list('config')], `The 3 files under config have ${totalBytes(pathsUnder('config'))} bytes in total.`],
    [
      'What is the total size of all JSON files?',
      [list('.', { pattern: '*.json' })],
      `The 3 JSON files in this project have ${totalBytes(pathsUnder('.', ['.json']))} bytes in total.`,
    ],
    ['How long is src/agent/turn.ts?', [list('src/agent/turn.ts', { lines: true })], 'src/agent/turn.ts has 31 lines.'],
    ['What is the size of `src/index.ts` in bytes?', [list('src/index.ts')], `src/index.ts has ${bytesOf('src/index.ts')} bytes.`],
    [
      'how many lines does README.md have?',
      [list('.', { pattern: 'README.md', lines: true, limit: 20 })],
      `README.md has ${linesOf('README.md')} lines.`,
    ],
    [
      'What is the line count of the longest file in docs?',
      [list('docs', longest)],
      'docs/guide.md, the longest file under docs, has 60 lines.',
    ],
    [
      'How many lines do the 2 longest files in config have combined?',
      [list('config', { ...longest, limit: 11 })],
      'The 2 longest files under config have 18 lines in total.',
    ],
    [
      'Is README.md longer than 20 lines?',
      [list('.', { pattern: 'README.md', lines: true, limit: 20 })],
      `Yes: README.md has ${linesOf('README.md')} lines, more than 20 lines.`,
    ],
  ])('%s', async (...row) => check(row))

  it('asks which one is meant when a name is there twice', async () => {
    const { answer } = await converse('how long is runner.ts?')
    expect(answer).toBe('2 files are named runner.ts: src/agent/runner.ts, src/tools/runner.ts. Please say which one you mean.')
    const there = await converse('in src/tools, how long is runner.ts?')
    expect(there.answer).toBe('src/tools/runner.ts has 9 lines.')
  })
})

describe('comparisons', () => {
  it.each<Row>([
    [
      'Are there more TypeScript files under src or tests?',
      [list('src', { pattern: ts }), list('tests', { pattern: ts })],
      'There are more under src: 7 TypeScript files under src, 4 TypeScript files under tests (difference: 3).',
    ],
    [
      'Which is longer, src/index.ts or src/legacy.js?',
      [list('src/index.ts', { lines: true }), list('src/legacy.js', { lines: true })],
      'src/index.ts is the longer one: src/index.ts has 12 lines, src/legacy.js has 5 lines (difference: 7).',
    ],
    [
      'Are there more Python files than YAML files?',
      [list('.', { pattern: '*.{py,pyi}' }), list('.', { pattern: '*.{yaml,yml}' })],
      'Yes: 3 Python files in this project, 2 YAML files in this project (difference: 1).',
    ],
    [
      'which has fewer lines, config or scripts?',
      [list('config', { lines: true }), list('scripts', { lines: true })],
      'The files under config have fewer: the files under config have 20 lines, the files under scripts have 40 lines (difference: 20).',
    ],
    [
      'Is the longest file in src longer than the longest file in tests?',
      [list('src', longest), list('tests', longest)],
      'No: src/agent/runner.ts (the longest file under src) has 48 lines, tests/agent/runner.test.ts (the longest file under tests) has 77 lines (difference: 29).',
    ],
    [
      'Which folder has more files, config, docs or scripts?',
      [list('config'), list('docs'), list('scripts')],
      'They are equal: 3 files under config, 3 files under docs, 3 files under scripts.',
    ],
    [
      'How many more lines does src/index.ts have than src/legacy.js?',
      [list('src/index.ts', { lines: true }), list('src/legacy.js', { lines: true })],
      'src/index.ts has more: src/index.ts has 12 lines, src/legacy.js has 5 lines (difference: 7).',
    ],
    [
      'Which is the shortest of src/index.ts, src/legacy.js and config/b.yml?',
      [list('src/index.ts', { lines: true }), list('src/legacy.js', { lines: true }), list('config/b.yml', { lines: true })],
      'src/legacy.js is the shortest one: src/index.ts has 12 lines, src/legacy.js has 5 lines, config/b.yml has 14 lines.',
    ],
    [
      'Do src and tests have the same number of TypeScript files?',
      [list('src', { pattern: ts }), list('tests', { pattern: ts })],
      'No: 7 TypeScript files under src, 4 TypeScript files under tests (difference: 3).',
    ],
  ])('%s', async (...row) => check(row))
})

it('the workspace of these tests is what the answers above say', () => {
  expect(inFolder('src', isTypeScript)).toBe(7)
  expect(inFolder('tests', isTypeScript)).toBe(4)
  expect(linesOf('src/agent/turn.ts')).toBe(31)
  expect(linesOf('docs/guide.md')).toBe(linesOf('docs/notes/old.md'))
  function inFolder(folder: string, endings: readonly string[]): number {
    return pathsUnder(folder, endings, workspace).length
  }
})
