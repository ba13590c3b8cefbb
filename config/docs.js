import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCodes } from '../src/core/errors.ts'
import { modelTables } from './models.js'

/**
 * Updates README.md and the pages of docs/. Replaces each snippet under `<!-- file: … -->` with its file in tests, each table under `<!--
 * options: … -->` with the docstrings of an interface, the table of errors with src/core/errors.ts, and the tables of models with the price
 * list. tests/docs.test.ts fails if a page is out of date.
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

/** A member of an interface: its docstring, its name, `?` if it is optional, and its first parameter if it is a method. */
const member = /(?:^ {2}\/\*\*((?:[^*]|\*(?!\/))*)\*\/\n)?^ {2}(?:readonly )?(\w+)(\??)(?:\((\w*)[^)]*\))?(?=[:<(])/gm

/** A table of an interface's options: their names, and the default and the rest of the first paragraph of each docstring. */
function optionTable(file, type, page) {
  const source = readFileSync(join(root, file), 'utf8')
  const body = new RegExp(`^(?:export )?interface ${type}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(source)?.[1]
  if (body === undefined) throw new Error(`Expected ${file} to declare the interface ${type}`)
  const rows = [...body.matchAll(member)].map(([, comment, name, optional, parameter]) => {
    if (comment === undefined) throw new Error(`Expected \`${name}\` of ${type} in ${file} to have a docstring`)
    const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trim())
    const [first] = lines.join('\n').trim().split('\n\n')
    const paragraph = first.replaceAll('\n', ' ')
    // The value up to the end of its sentence or of its first clause.
    const [stated = '', byDefault = optional === '' ? '–' : 'none'] =
      /(?<=^|\. )Default:? ((?:[^.:`]|`[^`]*`|\.(?! |$)|:(?! ))+)[.:](?: |$)/.exec(paragraph) ?? []
    const meaning = paragraph.replace(stated, stated.trim().endsWith(':') ? 'By default, ' : '').trim()
    const [, text, target] = /@see \[(.+)\]\((.+)\)/.exec(lines.join('\n')) ?? []
    const link = target?.startsWith(`${page}#`) ? target.slice(page.length) : relative(dirname(page), target ?? '')
    const see = text === undefined ? '' : ` See [${text}](${link}).`
    const called = parameter === undefined ? name : `${name}(${parameter})`
    return `| \`${called}\` | ${byDefault} | ${`${meaning}${see}`.replaceAll('|', '\\|')} |\n`
  })
  return `| option | default | meaning |\n|---|---|---|\n${rows.join('')}`
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
    .replace(
      /(<!-- options: (\S+) (\w+) -->\n\n)(?:\|.*\n)*/g,
      (_whole, head, file, type) => `${head}${optionTable(file, type, page.replaceAll('\\', '/'))}`,
    )
    .replace(/(<!-- models -->\n)[\s\S]*/, (_whole, mark) => mark + modelTables())
    .replace(/(\| code \| whose fault \| meaning \|\n\|---\|---\|---\|\n)(?:\|.*\n)*/, (_whole, head) => `${head}${errors.join('\n')}\n`)
  if (filled !== text) writeFileSync(join(root, page), filled)
}
