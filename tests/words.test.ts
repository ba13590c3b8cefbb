import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Phrases that make a sentence hard to read, and what to write instead. Add one line per phrase. */
const phrases: [phrase: RegExp, instead: string][] = [
  [/\banew\b/, 'again'],
  [/\binside of\b/, 'inside'],
  [/\bbelongs? into\b/, 'belongs in, goes into'],
  [/\b(?:comes?|came) to nothing\b/, 'has no effect, fails'],
  [/\bwhat (?:it|they|this|that|he|she) (?:comes?|came) to\b/, 'the result'],
  [/\b(?:taken|takes?|took|taking) up\b/, 'resumed, resumes'],
  [/\b(?:gone|goes|going|went) on with\b/, 'continued, resumed'],
  [/\bgoes on\b/, 'continues'],
  [/\bso many that\b/, 'the number, the limit'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b(?! of\b)/, 'is not a …, is ignored'],
  [/\bof which there (?:is|are)\b/, 'split the sentence'],
  [/\bin peace\b/, 'without an error'],
  [/\bset aside\b/, 'reserved, queued'],
  [/\bfor want of\b/, 'because … is missing'],
  [/\bin its stead\b/, 'instead'],
  [/\bwhich is (?:no|none)\b/, 'that is not'],
  [/\bwhat is no\b/, 'anything but, if it is not'],
  [/\bwhat has no\b/, 'anything without'],
  [
    /(?:^|[,;:.] )where (?:it|that|there|this|they|no|nothing|one|none|neither) (?:is|are|was|has|have|can|could|does|did|must|may|needs?)\b/i,
    'if',
  ],
  [
    /\bwhoever\b(?! (?:call|read|run|write|use|embed|wait|decid|ask|start|own|open|review|approve|sign)\w*)/i,
    'the caller, the code that (whoever is for people)',
  ],
  [/\bthe like of\b/, 'like'],
  [/\bstands? around\b/, 'wraps'],
  [/\bwhat is (?:left|told|said) of\b/, 'the rest of, the text of'],
  [/\bas (?:many|much) as there (?:is|are)\b/, 'all'],
  [/\bby itself alone\b/, 'alone'],
  [/\bone after another of\b/, 'each of'],
  [/(?<!\b(?:give|or|are) )\ball the same\b/, 'still'],
  [/\b(?:run|call|conversation|it) stays where it is\b/, 'is unchanged'],
  [/\bof one['’]s own\b/, 'your own, custom'],
  [/\bmade again\b/, 'repeated, runs again'],
  [/\bhanded in\b/, 'passed in'],
  [/\bhealed\b/, 'repaired'],
  [/\bcan['’]t be had\b/, 'is not available'],
  [/\blook(?:s|ed)? after\b/, 'maintains'],
  [/\bpassed over\b/, 'ignored, skipped'],
  [/\bput(?:s|ting)? (?:\w+ )?right\b/, 'repairs, corrects'],
  [/\btold apart\b/, 'distinguished'],
  [/\btold of\b/, 'told about, gets'],
  [/\btaken for\b/, 'mistaken for, counts as'],
  [/\bthat one['’]s\b/, 'name the thing again'],
  [/\bstands? (?:in the (?:place|way)|before a)\b/, 'replaces, precedes'],
  [/\bwhat (?:\w+ )?came of\b/, 'the outcome of'],
  [/\bcolour|\bbehaviour|\bneighbour|\b(?:recogn|normal|serial|initial|organ)is(?:e|es|ed|ing)\b/, 'American spelling'],
]

/** The prose of a TypeScript file: each comment, and each name of a test, as one line. */
function proseOfCode(text: string): string[] {
  const blocks = [...text.matchAll(/\/\*+([\s\S]*?)\*\//g)].map(([, block = '']) => block.replace(/\n\s*\*?/g, ' '))
  const lines = [...text.matchAll(/(?:^[ \t]*\/\/.*\n?)+|[ \t]\/\/ .*/gm)].map(([line]) => line.replace(/^[ \t]*\/\//gm, ''))
  const names = [
    ...text.matchAll(/\b(?:it|test|describe)(?:\.\w+)*(?:\([^)]*\))?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g),
    ...text.matchAll(/\)\(\s*(['"`])((?:\\.|(?!\1).)*)\1,\s*(?:async )?\(/g),
  ].map(([, , name = '']) => name)
  return [...blocks, ...lines, ...new Set(names)]
}

/** The string literals of a TypeScript file that have at least four words. */
function stringsOfCode(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const literals = code.matchAll(/'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`|"((?:\\.|[^"\\\n])*)"/g)
  return [...literals]
    .map(([, single, template, double]) => single ?? template ?? double ?? '')
    .filter((words) => words.split(' ').length > 3)
}

/** The comments of a YAML file: lines that follow each other are one text. */
function proseOfYaml(text: string): string[] {
  return [...text.matchAll(/(?:^[ \t]*#.*\n?)+|[ \t]#.*/gm)].map(([lines]) => lines.replace(/^[ \t]*#/gm, ''))
}

/** The paragraphs of a page, without its code. */
function proseOfPage(text: string): string[] {
  return text.replace(/^ *(```+)[\s\S]*?^ *\1/gm, '').split(/\n{2,}/)
}

function proseOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const prose = /\.md$/.test(file) ? proseOfPage(text) : /\.ya?ml$/.test(file) ? proseOfYaml(text) : proseOfCode(text)
  return prose.map((words) => words.replace(/\s+/g, ' ').trim())
}

function poorPhrases(prose: readonly string[]): string[] {
  return prose.flatMap((text) =>
    phrases.flatMap(([phrase, instead]) => {
      const found = phrase.exec(text)
      return found
        ? [`Expected ${instead}, got "${found[0].trim()}" in "${text.slice(Math.max(0, found.index - 60), found.index + 80)}"`]
        : []
    }),
  )
}

/** Everything but the bundle of the page, the rows of tests/spec, and this file, which quotes the phrases. */
const files = globSync(['{src,tests,docs,config}/**/*.{ts,tsx,js,cjs,md,yaml,yml}', '*.md'], { cwd: root }).filter(
  (file) => !/^(?:src\/service\/page\/|tests\/spec\/|tests\/words\.test\.ts$)/.test(file),
)
/** The files by the first two folders of their paths. */
const byFolder = Map.groupBy(files, (file) => file.split('/').slice(0, -1).slice(0, 2).join('/') || '.')

describe('the words of comments, docstrings and test names', () => {
  it.each([...byFolder])('%s has no phrase that makes a sentence hard to read', (_, own) => {
    expect(own.flatMap((file) => poorPhrases(proseOf(file)).map((problem) => `${file}: ${problem}`))).toEqual([])
  })

  it('no text of an error, a log record or a model has such a phrase', () => {
    const sources = files.filter((file) => /^src\/.*\.tsx?$/.test(file))
    expect(
      sources.flatMap((file) => poorPhrases(stringsOfCode(readFileSync(join(root, file), 'utf8'))).map((problem) => `${file}: ${problem}`)),
    ).toEqual([])
  })

  it('finds a phrase in a docstring, in a comment of several lines and in a test name, but not in code', () => {
    const code = [
      '/**',
      ' * Sends it',
      ' * anew.',
      ' */',
      'const anew = "anew" // belongs',
      '  // It belongs',
      '  // into the list.',
      "it.each(rows)('goes on with %s', () => {})",
      "it.each([\n])('sends %s anew', async () => {})",
    ].join('\n')
    expect(poorPhrases(proseOfCode(code).map((words) => words.replace(/\s+/g, ' ')))).toHaveLength(3 + 2)
    expect(poorPhrases(proseOfPage('Text.\n\n```ts\n// anew\n```\n\nSent\nagain.'))).toEqual([])
    expect(poorPhrases(proseOfYaml('# Sent\n# anew\nkey: anew # again\n'))).toHaveLength(1)
  })
})
