import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { chooseModel } from '../src/cli/choose-model.ts'
import { openChoice } from '../src/cli/prepare-agent.ts'
import { errorCodes } from '../src/errors.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const readme = read('README.md')
const run = promisify(execFile)

/** The source file that stands for each of the package's entries; examples import the file, the README the entry. */
const entries: Record<string, string> = {
  'src/index.ts': 'toolloop',
  'src/testing/index.ts': 'toolloop/testing',
  'src/tools/builtin/index.ts': 'toolloop/tools',
  'src/tools/skills/index.ts': 'toolloop/skills',
  'src/tools/mcp/index.ts': 'toolloop/mcp',
  'src/tools/openapi/index.ts': 'toolloop/openapi',
  'src/dialects/index.ts': 'toolloop/dialects',
  'src/pipeline/index.ts': 'toolloop/pipeline',
  'src/service/index.ts': 'toolloop/service',
  'src/models/openai.ts': 'toolloop/models/openai',
  'src/backends/index.ts': 'toolloop/backends',
}

function asInReadme(source: string): string {
  return source.replace(/'(?:\.\.\/)+(src\/[^']+)'/g, (_whole, file: string) => `'${entries[file] ?? `no entry for ${file}`}'`).trim()
}

const shown = readdirSync(join(root, 'tests/examples'))
const examples = shown.filter((name) => name.endsWith('.ts'))
const snippets = [...readme.matchAll(/<!-- file: (\S+) -->\n```(?:ts|yaml|sh)\n([\s\S]*?)\n```/g)].map(([, file = '', code = '']) => ({
  file,
  code,
}))

/** What each example prints, where it is the same every time. */
const printed: Record<string, RegExp> = {
  'quick-start.ts': /^weather: \{"city":"Oslo","sky":"clear","celsius":21\}\nanswered .*Oslo/,
  'streaming.ts': /→ list_files[\s\S]*→ calculate[\s\S]*\nanswered after 3 requests/,
  'limits.ts': /^budget 5\n(max_iterations|budget) true\n$/,
  'custom-agent.ts': /lamp.*3/,
  'testing.ts': /^It is 5 – fünf – 五\. 1 3\n$/,
  'no-function-calling.ts': /^add \{"a":2,"b":3\}\nIt is 5\. user assistant tool assistant\nfalse\n$/,
  'text-calls.ts': /^text Let me look\. \ncall weather \{"city":"Oslo"\}\ntext Done\.\n$/,
  'approvals.ts': /^paused \{ euros: 250 \}\nIt is on its way\. 200 euros were paid back\n\nNote: [^\n]+\n$/,
  'claims.ts': /^It is on its way\.\nalready_resumed\n$/,
  'hooks.ts':
    /^sent to ann@example\.com: Hello – The shop\nThe call [^\n]+: mail goes to example\.com only\nI wrote to \(address\) and not to Eve\.\n$/,
  'structured-output.ts': /^answered 2 2026\n$/,
  'sub-agents.ts': /^2,460 metres\. 240\nI am billing\. You owe nothing\. billing 600\n$/,
  'override-points.ts': /^I can only read it\.\nThe key is \(hidden\)\.\nTool not found: write_note\. Available tools: read_note\.\n$/,
  'steering.ts': /^count 12\nTwelve sheep, and the dog is well\. 5\n7\n$/,
  'speech.ts': /^say: Dr\. Who, it is 3\.5 °C in Oslo\.\nsay: “Am 3\. Mai wird es wärmer!”\nsay: 再见。\nsay: Bye\nanswered 4\n$/,
  'langchain-backend.ts': /^native answered It is sunny in Oslo\.\nlangchain answered It is sunny in Oslo\.\ntrue\n$/,
  'migrating-from-langchain.ts': /^weather \{"city":"Oslo"\} → sunny in Oslo\nanswered It is sunny in Oslo\. 15\n$/,
  'skills.ts':
    /^circle_area \(skill\): \{"area":314\}\n\{ success: true, result: \{ area: 3 \} \} \{ success: false, error: 'Tool not found: square_area' \}\n$/,
  'mcp.ts': /^everything__echo everything__get-sum\nThe sum of 2 and 40 is 42\. It is 42\.\n2\n$/,
  'openapi.ts': /^\{"url":"\/weather\/S%C3%A3o%20Paulo\?units=metric","key":"\[redacted\]"\}\n$/,
  'service.ts': /^200 .*Oslo.*21/,
  'one-query.ts': /^Oslo is ahead\.\n$/,
}

describe('README', () => {
  it('every snippet of code or configuration is a file of tests/examples, word for word', () => {
    const all = [...readme.matchAll(/```(?:ts|yaml)\n/g)].length
    expect(snippets.filter(({ file }) => !file.endsWith('.sh')).length).toBe(all)
    expect(snippets.length).toBeGreaterThan(4)
    for (const { file, code } of snippets) expect(code.trim(), file).toBe(asInReadme(read(file)))
  })

  it('every example is shown in the README', () => {
    expect(snippets.map(({ file }) => file).sort()).toEqual(shown.map((name) => `tests/examples/${name}`).sort())
  })

  it('documents every error code, and none that is not there', () => {
    const table = [...readme.matchAll(/^\| `([a-z_]+)` \| (programmer|model|tool|provider|caller) \| (.+) \|$/gm)]
    const documented = Object.fromEntries(table.map(([, code = '', fault, meaning]) => [code, { fault, meaning }]))
    expect(documented).toEqual(errorCodes)
  })

  it('names only files and commands that are there', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
    const used = [...readme.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name)
    expect(used.filter((name) => !scripts.includes(name))).toEqual([])
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path = '']) => path)
    for (const path of links) expect(() => readFileSync(join(root, path)), path).not.toThrow(/ENOENT/)
  })

  it('the changelog has a section for what is not released yet', () => {
    expect(read('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m)
  })
})

describe('examples', () => {
  it('toolloop.yaml is a configuration the command line takes', async () => {
    const choice = await chooseModel({ env: {}, cwd: join(root, 'tests/examples') })
    expect(choice).toMatchObject({ name: 'inhouse/qwen3-coder', source: 'file' })
    expect(openChoice(choice).capabilities).toMatchObject({ contextWindow: 262_144, price: { input: 0.4 } })
  })

  // One after the other in one process: starting one for each costs more than running them.
  const outputs = runAll(examples)

  it.each(examples)('%s runs and prints what it should', { timeout: 60_000 }, async (name) => {
    expect((await outputs).get(name)).toMatch(printed[name] ?? /\S/)
  })
})

async function runAll(names: readonly string[]): Promise<Map<string, string>> {
  const mark = '=== example '
  const lines = names.map((name) => `console.log(${JSON.stringify(mark + name)}); await import('./tests/examples/${name}')`)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', lines.join('\n')], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  })
  const parts = stdout.split(mark).slice(1)
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]))
}
