import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest: { exports: Record<string, string | { default: string }>; scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)
const sources = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === 'string' ? [] : [entry.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')],
)

/** What loading undici does. The variables are read in older versions of Node.js. */
const ofUndici = /^(?:global Symbol\(undici\.globalDispatcher\.\d\)|env (?:JEST_WORKER_ID|UNDICI_NO_FG))$/

it('X10 importing any entry only loads modules; a driver also loads undici, with its dispatcher', () => {
  const urls = sources.map((source) => new URL(`../${source}`, import.meta.url).href)
  expect(urls.length).toBeGreaterThan(20)
  const said = execFileSync(process.execPath, ['--no-warnings', fileURLToPath(new URL('./imports-process.ts', import.meta.url)), ...urls], {
    encoding: 'utf8',
  })
  const report: Record<string, string[]> = JSON.parse(said)
  expect(
    Object.values(report)
      .flat()
      .filter((done) => !ofUndici.test(done)),
  ).toEqual([])
  expect(Object.keys(report).every((url) => /\/models\/[^/]+\/driver\.ts$/.test(url))).toBe(true)
})

it('X10 installing the package runs nothing', () => {
  expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$|^prepare$|^prepublish$/.test(name))).toEqual([])
})

it('X10 workflows pin actions to commits, and only a person starts a release', () => {
  const folder = join(root, '.github/workflows')
  const workflows = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  for (const { name, text } of workflows) {
    const used = [...text.matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, action]) => action)
    expect(used.length, name).toBeGreaterThan(0)
    for (const action of used) expect(action, name).toMatch(/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    expect(text, name).toMatch(/^permissions:\n {2}contents: read\n/m)
    if (/npm publish/.test(text)) expect(text.match(/^on:\n((?: .*\n)+)/m)?.[1], name).toMatch(/^ {2}workflow_dispatch:\n(?! {2}\S)/)
  }
  expect(workflows.filter(({ text }) => /npm publish .*--provenance/.test(text))).toHaveLength(1)
})
