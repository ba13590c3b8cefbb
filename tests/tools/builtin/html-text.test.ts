import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { htmlToText } from '../../../src/tools/builtin/web/html-text.ts'

const textOf = async (html: string) => (await htmlToText(html)).text

describe('htmlToText', () => {
  it('returns the title and the readable text of a page', async () => {
    const page = await htmlToText(`<!doctype html><html><head><title> News
      &amp; more </title><style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script></head>
      <body><!-- <p>hidden</p> --><h1>Top</h1><p>One   paragraph,<br>two <b>li</b>nes.</p>
      <ul><li>first</li><li>second</li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>`)
    expect(page.title).toBe('News & more')
    expect(page.text).toBe('# Top\n\nOne paragraph,\ntwo lines.\n\n- first\n- second\n\na | b\n1 | 2')
  })

  it('keeps white space that is significant', async () => {
    expect(await textOf('<p>a</p><pre>if (x)\n    y()\n</pre><p>b  c</p>')).toBe('a\n\nif (x)\n    y()\n\nb c')
    expect(await textOf('<b>a</b> <i>b</i>')).toBe('a b')
    expect(await textOf('<b>a</b><i>b</i>')).toBe('ab')
  })

  it.each([
    ['a &lt; b &amp;&amp; c &gt; d', 'a < b && c > d'],
    ['&quot;&#39;&apos;&#x41;&#65;', "\"''AA"],
    ['caf&eacute; &uuml;&Uuml;&szlig;&yuml;&nbsp;x', 'café üÜßÿ x'],
    ['&copy; 2026 &ndash; &hellip; &euro;5 &rarr;', '© 2026 – … €5 →'],
    ['&#150; &#x1F600;', '– 😀'],
    ['&lbrace;&check;&NotEqualTilde;&rbrace; &copy2026', '{✓≂̸} ©2026'],
    ['&#0; &#xD800; &#x110000;', '\ufffd \ufffd \ufffd'],
    ['&nosuch; AT&T a&b', '&nosuch; AT&T a&b'],
    ['&amp;lt;', '&lt;'],
  ])('reads %j', async (html, expected) => {
    expect(await textOf(html)).toBe(expected)
  })

  it.each([
    ['a < b and b > c', 'a < b and b > c'],
    ['<a title="x > y" href=\'>\'>link</a>', 'link'],
    ['<p title = "a>b">x</p>', 'x'],
    ['<SCRIPT>no</SCRIPT>yes', 'yes'],
    ['<script>"</scripty>" no</script >yes', 'yes'],
    ['<script>never ends', ''],
    ['text <!-- never ends', 'text'],
    ['text <p', 'text'],
    ['<![CDATA[x]]>y<?php echo ?>z', 'yz'],
    ['</p></div>x', 'x'],
    ['<svg><title>no</title></svg>yes', 'yes'],
    ['', ''],
  ])('reads malformed HTML: %j', async (html, expected) => {
    expect(await textOf(html)).toBe(expected)
  })

  it('never throws or leaves a tag, whatever the input', async () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '</',
      '<p>',
      '<script>',
      '</script>',
      '<!--',
      '-->',
      '&',
      ';',
      '&#',
      '"',
      "'",
      '=',
      'a',
      ' ',
      '<title>',
      '<pre>',
      '<td>',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        const { text, title } = await htmlToText(pieces.join(''))
        expect(text).not.toMatch(/<(p|script|title|pre|td)>/)
        expect(title).not.toContain('\n')
      }),
    )
  })

  it('takes time linear in the page, even if the page is hostile', async () => {
    const size = 150_000
    for (const attack of ['<', '<!--', '<a "', '</script', '<script>', '&', '&#', ' ', '\t\n', '<pre> ', '<title>', '<p ="']) {
      expect((await htmlToText(attack.repeat(size))).text.length, attack).toBeLessThanOrEqual(attack.length * size)
    }
  })

  it('reads a long text like a short one, wherever it is split to yield', async () => {
    for (const piece of ['&#x20AC;', 'word ', 'a&eacute;b', '&notanentity ']) {
      const times = Math.ceil(200_000 / piece.length)
      expect(await textOf(piece.repeat(times))).toBe((await textOf(`${piece}|`)).slice(0, -1).repeat(times).trimEnd())
    }
  })

  it('stops as soon as its signal is aborted', async () => {
    const controller = new AbortController()
    const reading = htmlToText('&amp;'.repeat(800_000), controller.signal)
    setImmediate(() => controller.abort(new Error('enough')))
    await expect(reading).rejects.toThrow('enough')
  })
})
