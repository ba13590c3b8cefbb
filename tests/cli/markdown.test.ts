import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MarkdownWriter } from '../../src/cli/terminal/markdown/markdown-writer.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { leastCpuMs } from '../reference-pace.ts'
import { fakeIO } from './fake-io.ts'

const writer = (columns = 60) => new MarkdownWriter({ style: (styles, text) => `{${styles.join(' ')}:${text}}`, columns: () => columns })

/** A complete text, written at once. */
function shown(text: string, columns?: number): string {
  const markdown = writer(columns)
  return markdown.push(text) + markdown.end()
}

describe('Markdown on a terminal', () => {
  it.each([
    ['a number of many digits', `${'1'.repeat(40)} is the answer`],
    ['a link with many brackets', `[a]( ${'((((a)'.repeat(30)}))))`],
    ['marks that nothing ends', `${'[a](b'.repeat(2_000)}${' *a'.repeat(2_000)}${' `'.repeat(2_000)}`],
    ['code with a long name', `~~~${' '.repeat(20_000)}\``],
  ])('is read in time linear in its length: %s', async (_, text) => {
    const read = () => {
      const markdown = writer()
      expect(markdown.push(text) + markdown.end()).not.toBe('')
    }
    expect(await leastCpuMs(1_000, read)).toBeLessThan(1_000)
  })

  it.each([
    ['# Title\n## Part *x*\n', '{bold underline:Title}\n{bold:Part }{bold italic:x}\n'],
    ['**b** _i_ ~~s~~ ***both*** `a*b`', '{bold:b} {italic:i} {strikethrough:s} {bold italic:both} {cyan:a*b}'],
    ['snake_case_name and 2 * 3 * 4, \\*not\\* **open', 'snake_case_name and 2 * 3 * 4, *not* **open'],
    ['- one\n  * two\n1. three\n- [x] done\n- [ ] open\n', '• one\n  • two\n1. three\n☑ done\n☐ open\n'],
    ['> said\n> > twice\n', '{dim:│ }said\n{dim:│ │ }twice\n'],
    [
      '[docs](https://a.example/x_(y)) <https://b.example> ![cat](c.png)',
      '{underline:docs}{dim: (https://a.example/x_(y))} {underline:https://b.example} {underline:cat}{dim: (c.png)}',
    ],
    ['[not a link] and arr[0](x)', '[not a link] and arr{underline:0}{dim: (x)}'],
    ['```ts\nconst **a** = `1`\n```\nafter', `{dim:${'── ts '.padEnd(59, '─')}}\nconst **a** = \`1\`\n{dim:${'─'.repeat(59)}}\nafter`],
    ['```diff\n+new\n-old\n same\n```', `{dim:${'── diff '.padEnd(59, '─')}}\n{green:+new}\n{red:-old}\n same\n{dim:${'─'.repeat(59)}}`],
    ['| no table\n', '| no table\n'],
  ])('shows %j', (text, expected) => {
    expect(shown(text)).toBe(expected)
  })

  it('shows a table in columns of equal width, and unchanged if it is wider than the screen', () => {
    const table = '| a | n |\n|---|--:|\n| **x** | 10 |\n| 好 | 2 |\n'
    expect(shown(table)).toBe('{bold:a} {dim: │ } {bold:n}\n{dim:───┼───}\n{bold:x} {dim: │ }10\n好{dim: │ } 2\n')
    expect(shown(table, 7)).toBe(table)
  })

  it('looks the same in whatever pieces it arrives, and loses nothing', () => {
    const unit = fc.constantFrom(
      'a',
      ' ',
      '\n',
      '*',
      '**',
      '_',
      '`',
      '```',
      '[',
      '](',
      ')',
      '#',
      '# ',
      '- ',
      '[x] ',
      '1. ',
      '|',
      '|-|',
      '>',
      '<https://x',
      '\\',
      '~~',
      '好',
      '---',
    )
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), (pieces) => {
        const markdown = writer()
        const streamed = `${pieces.map((piece) => markdown.push(piece)).join('')}${markdown.end()}`
        // A style that is written in two parts is the same style.
        const joined = (text: string) => text.replace(/\{([a-z ]+):/g, '⟨').replaceAll('}', '')
        expect(joined(streamed).replaceAll('⟨', '')).toBe(joined(shown(pieces.join(''))).replaceAll('⟨', ''))
      }),
      { numRuns: 500 },
    )
  })

  it('is shown as it arrives, except for parts that depend on later text', () => {
    const markdown = writer()
    expect(markdown.push('Some wor')).toBe('Some wor')
    expect(markdown.push('ds **bo')).toBe('ds ')
    expect(markdown.push('ld** and')).toBe('{bold:bold} and')
    expect(markdown.push('\n#')).toBe('\n')
    expect(markdown.push(' Ti')).toBe('{bold underline:Ti}')
    expect(markdown.push('tle\n')).toBe('{bold underline:tle}\n')
  })
})

describe('an answer', () => {
  const written = (env: Record<string, string>, tty: boolean) => {
    const io = fakeIO({ tty, env })
    const terminal = new Terminal(io)
    terminal.renderMarkdown()
    terminal.answer('**Bold** \x1b[2J\x1b]8;;https://evil.example\x07x')
    terminal.endAnswerLine()
    return io.out()
  }

  it('is written unchanged to a pipe, and to a terminal without colors', () => {
    expect(written({}, false)).toBe('**Bold** \x1b[2J\x1b]8;;https://evil.example\x07x\n')
    expect(written({ NO_COLOR: '1' }, true)).toBe('**Bold** [2J]8;;https://evil.examplex\n')
  })

  it('can’t control the terminal: all styles are this program’s', () => {
    const shownText = written({}, true)
    expect(stripVTControlCharacters(shownText)).toBe('Bold [2J]8;;https://evil.examplex\n')
    expect(shownText).toContain('\x1b[1mBold\x1b[22m')
  })
})
