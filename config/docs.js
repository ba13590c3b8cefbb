import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCodes } from '../src/core/errors.ts'

/**
 * Brings README.md and the pages of docs/ up to date with what they show: each snippet under `<!-- file: … -->` with its file in
 * tests, and the table of errors with src/core/errors.ts. tests/docs.test.ts fails where that has not been done.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = new Map(
  Object.entries(exports)
    .filter(([entry]) => !entry.endsWith('.json'))
    .map(([entry, { types }]) => [types.replace('./dist/', 'src/').replace('.d.ts', '.ts'), name + entry.slice(1)]),
)

function snippet(file) {
  const code = readFileSync(join(root, file), 'utf8')
  return code.replace(/'(?:\.\.\/)+(src\/[^']+)'/g, (_whole, source) => `'${entries.get(source)}'`).trim()
}

const errors = Object.entries(errorCodes).map(([code, { fault, meaning }]) => `| \`${code}\` | ${fault} | ${meaning} |`)
const pages = readdirSync(join(root, 'docs'), { recursive: true }).filter((file) => file.endsWith('.md'))
for (const page of ['README.md', ...pages.map((file) => join('docs', file))]) {
  const text = readFileSync(join(root, page), 'utf8')
  const filled = text
    .replace(
      /(<!-- file: (\S+) -->\n```(?:tsx?|js|json|yaml|sh)\n)[\s\S]*?(```)/g,
      (_whole, head, file, end) => `${head}${snippet(file)}\n${end}`,
    )
    .replace(/(\| code \| whose fault \| meaning \|\n\|---\|---\|---\|\n)(?:\|.*\n)*/, (_whole, head) => `${head}${errors.join('\n')}\n`)
  if (filled !== text) writeFileSync(join(root, page), filled)
}
