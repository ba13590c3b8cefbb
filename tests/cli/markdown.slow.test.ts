import { describe, expect, it } from 'vitest'
import { MarkdownWriter } from '../../src/cli/terminal/markdown/markdown-writer.ts'

const writer = (columns = 60) => new MarkdownWriter({ style: (styles, text) => `{${styles.join(' ')}:${text}}`, columns: () => columns })

describe('Markdown on a terminal', () => {
  it('takes linear time for a long line with an open emphasis', () => {
    const markdown = writer()
    let length = 0
    for (let at = 0; at < 20_000; at++) length += markdown.push('*a [b ').length
    expect(length + markdown.end().length).toBe(120_000)
  })
})
