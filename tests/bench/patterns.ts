/**
 * `node tests/bench/patterns.ts`: what it costs to look for many secrets at once with `PatternSet`, and with a regular expression of the same
 * texts. In milliseconds of CPU time: of building either once, and of the fastest of several searches.
 */
import { createHash } from 'node:crypto'
import { Finder } from '../../src/core/redaction/finder.ts'
import { type Form, formsOf } from '../../src/core/redaction/secret-forms.ts'

const prose = 'The quick brown fox jumps over the lazy dog, while 12 others (all of them slow) watch; nobody minds.\n'
const alike = `sk-${'a'.repeat(40)}`

function random(seed: number): string {
  return createHash('sha512').update(String(seed)).digest('base64')
}

const texts: Readonly<Record<string, string>> = {
  'prose, 300 kB': prose.repeat(3_000),
  'prose, 8 MB': prose.repeat(80_000),
  'base64, 300 kB': Array.from({ length: 3_500 }, (_, at) => random(-at)).join(''),
  'beginnings of secrets, 300 kB': alike.repeat(7_000),
}
const kinds: Readonly<Record<string, (at: number) => string>> = {
  random: (at) => random(at).slice(0, 20),
  alike: (at) => `${alike}${at}`,
  'words of the text': (at) => prose.slice(at % 50, (at % 50) + 20 + Math.floor(at / 50)),
}

function millisecondsOf(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

function fastestOf(work: () => void): number {
  return Math.min(...Array.from({ length: 5 }, () => millisecondsOf(work)))
}

function expressionOf(forms: readonly Form[]): RegExp {
  const longestFirst = [...new Set(forms.map(({ text }) => text))].sort((a, b) => b.length - a.length)
  return new RegExp(longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'), 'gi')
}

/** Finds secrets that overlap, too. */
function matchesOf(expression: RegExp, text: string): number {
  let count = 0
  expression.lastIndex = 0
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
    count++
    expression.lastIndex = match.index + 1
  }
  return count
}

for (const [kind, secretOf] of Object.entries(kinds)) {
  const rows: Record<string, Record<string, string>> = {}
  const add = (name: string, set: number, expression: number) => {
    rows[name] = { set: set.toFixed(1), expression: expression.toFixed(1) }
  }
  for (const secrets of [3, 100, 256, 5_000]) {
    const forms = Array.from({ length: secrets }, (_, at) => formsOf(secretOf(at), false)).flat()
    let finder = new Finder([], { folds: true })
    let expression = /a/g
    const building = millisecondsOf(() => {
      finder = new Finder(forms, { folds: true })
    })
    // An expression is compiled when it is first used.
    const compiling = millisecondsOf(() => {
      expression = expressionOf(forms)
      expression.test(prose)
    })
    add(`${secrets} secrets`, building, compiling)
    for (const [name, text] of Object.entries(texts)) {
      const searching = fastestOf(() => finder.search(text, 0, text.length, { found: [], state: 0 }))
      add(
        `${secrets} secrets in ${name}`,
        searching,
        fastestOf(() => matchesOf(expression, text)),
      )
    }
  }
  console.log(`Secrets that are ${kind}`)
  console.table(rows)
}
