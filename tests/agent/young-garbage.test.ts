import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('no file on the way of a call assigns a function expression to a property', () => {
  const map = readFileSync(new URL('../../src/README.md', import.meta.url), 'utf8')
  const way = [...(map.split('\n## The way of a call\n')[1]?.split('\n## ')[0] ?? '').matchAll(/^\d+\. `([^`]+)`/gm)].map(
    ([, file]) => file,
  )
  expect(way.length).toBeGreaterThan(20)
  const assigned = /\.#?\w+ *(?:\?\?)?= *(?:async *)?(?:\([^()]*\)|\w+)(?: *: *[^=;{}\n]+)? *=>|\.#?\w+ *(?:\?\?)?= *(?:async *)?function/m
  const found = way.flatMap((file) => assigned.exec(readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8'))?.[0] ?? [])
  expect(found).toEqual([])
})
