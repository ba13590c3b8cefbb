import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
// @ts-expect-error it has no types
import { listedModels, modelTables } from '../config/models.js'
import { limitSettings } from '../src/agent/options/limit-settings.ts'
import { runOptions } from '../src/agent/options/run-options.ts'
import { runnerOptions } from '../src/agent/options/runner-options.ts'
import { chooseModel } from '../src/cli/setup/choose-model.ts'
import { openChoice } from '../src/cli/setup/prepare-agent.ts'
import { errorCodes } from '../src/core/errors.ts'
import { providerNames } from '../src/models/presets.ts'
import { settingNames } from '../src/models/settings.ts'
import { bareEnv } from './cli/fake-io.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const run = promisify(execFile)

const names = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
const allDocs = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)
/** The pages that `npm run docs:api` writes from the docstrings. */
const reference = allDocs.filter((page) => page.startsWith('docs/api/'))
const docs = allDocs.filter((page) => !reference.includes(page))
/** Every written page for readers, relative to the root of the project. */
const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs]
/** A page's prose. Other tests check code and comments. */
const prose = (page: string) => read(page).replace(/```[\s\S]*?```/g, '')

/** The source file of each entry of the package. Examples import the file; the pages show the entry. */
const packageJson: { scripts: Record<string, string>; files: string[]; exports: Record<string, { types: string } | string> } = JSON.parse(
  read('package.json'),
)
const entries: Record<string, string> = {}
for (const [entry, target] of Object.entries(packageJson.exports)) {
  if (typeof target === 'object') entries[target.types.replace('./dist/', 'src/').replace('.d.ts', '.ts')] = `toolloop${entry.slice(1)}`
}

function asShown(source: string): string {
  return source.replace(/'(?:\.\.\/)+(src\/[^']+)'/g, (_whole, file: string) => `'${entries[file] ?? `no entry for ${file}`}'`).trim()
}

const shown = readdirSync(join(root, 'tests/examples'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(join(root, 'tests/examples'), join(parentPath, name)).replaceAll('\\', '/'))
/** Run by tests/journals/dbos-example.slow.test.ts and tests/tools/mcp/oauth.test.ts, which start the servers that they need. */
const withServers = ['durable-dbos.ts', 'mcp-sign-in.ts']
/** Recipes are programs of their own, run by tests/recipes.slow.test.ts. */
const examples = shown.filter((name) => name.endsWith('.ts') && !name.includes('/') && !withServers.includes(name))
/** The project that `toolloop init` writes. */
const templates = readdirSync(join(root, 'config/new-project')).map((name) => `config/new-project/${name}`)
const snippets = pages.flatMap((page) =>
  [...read(page).matchAll(/<!-- file: (\S+) -->\n```(?:tsx?|js|json|yaml|sh)\n([\s\S]*?)\n```/g)].map(([, file = '', code = '']) => ({
    page,
    file,
    code,
  })),
)

/** What each example prints, if it is always the same. */
const printed: Record<string, RegExp> = {
  'quick-start.ts': /^weather: \{"city":"Oslo","sky":"clear","celsius":21\}\nanswered .*Oslo/,
  'run-view.ts': /^turn 1\n- list_files: ok, [\s\S]*turn 2\n- calculate: ok, [\s\S]*turn 3\nanswered: There are \d+ files/,
  'redact.ts':
    /^\{\s+user: 'ann',\s+password: '\[redacted\]',\s+headers: \{ authorization: '\[redacted\]' \}\s+\}\ncurl -H "x-api-key: \[redacted\]" https:\/\/ann:\[redacted\]@example\.com\n$/,
  'choosing.ts': /^answered\n$/,
  'streaming.ts': /→ list_files[\s\S]*→ calculate[\s\S]*\nanswered after 3 requests/,
  'limits.ts': /^budget 5\n(max_iterations|budget) true\n$/,
  'custom-agent.ts': /lamp.*3/,
  'testing.ts': /^It is 5 – fünf – 五\. 1 3\n$/,
  'no-function-calling.ts': /^add \{"a":2,"b":3\}\nIt is 5\. user assistant tool assistant\nfalse\n$/,
  'text-calls.ts': /^text Let me look\. \ncall weather \{"city":"Oslo"\}\ntext Done\.\n$/,
  'approvals.ts': /^paused \{ euros: 250 \}\nIt is on its way\. 200 euros were paid back\n\nNote: [^\n]+\n$/,
  'shown-change.ts': /^I replace the bread\. \{ before: 'milk\\nbread\\n', after: 'milk\\neggs\\n' \}\n$/,
  'claims.ts': /^It is on its way\.\nalready_resumed\n$/,
  'hooks.ts':
    /^sent to ann@example\.com: Hello – The shop\nThe call [^\n]+: mail goes to example\.com only\nI wrote to \(address\) and not to Eve\.\n$/,
  'around.ts':
    /^request 1 scripted-model tool_calls\nreading\nrequest 2 scripted-model tool_calls\ncommit \[ 30 \]\nrequest 3 scripted-model stop\n30 euros are paid\.\n$/,
  'audit.ts':
    /^\{"tenant":"t1","user":17,"finishReason":"tool_calls","tokens":50\}\n(?:[^\n]+\n)*\{"tenant":"t1","user":17,"at":"20[^"]+Z","tool":"transfer","args":\{"euros":30,"pin":"\[redacted\]"\},"outcome":"ok","value":\{"transferred":30\},"bytes":18\}\n/,
  'typed-calls.ts': /^A7 30 ann\n$/,
  'partial-output.ts': /^Kyo: 0, Kyoto: 0, Kyoto: 1, Kyoto: 2\nwalk, tea\n$/,
  'structured-output.ts': /^answered 2 2026\n$/,
  'code-mode.ts':
    /^refund \{ id: 'A1' \} line 2: const refunds = .*\nrefund \{ id: 'A3' \} line 2: .*\nDone: \[\{"refunded":"A1"\},"The call to `refund` was refused: too much"\]\n$/,
  'preview.ts':
    /^paused \{"wouldRefund":"A1"\}.*\n1\/3 refund \{ id: 'A1' \}\n2\/3 .*\n3\/3 .*\n\{"refunded":"A1"\} The call to `refund` was refused: already paid back \{"refunded":"A3"\}\n$/,
  'sub-agents.ts': /^2,460 meters\. 240\nI am billing\. You owe nothing\. billing 600\n$/,
  'override-points.ts': /^I can only read it\.\nThe key is \(hidden\)\.\nTool not found: write_note\. Available tools: read_note\.\n$/,
  'steering.ts': /^count 12\nTwelve sheep, and the dog is well\. 5\n7\n$/,
  'speech.ts': /^say: Dr\. Who, it is 3\.5 °C in Oslo\.\nsay: “Am 3\. Mai wird es wärmer!”\nsay: 再见。\nsay: Bye\nanswered 4\n$/,
  'langchain-backend.ts': /^native answered It is sunny in Oslo\.\nlangchain answered It is sunny in Oslo\.\ntrue\n$/,
  'migrating-from-langchain.ts': /^weather \{"city":"Oslo"\} → sunny in Oslo\nanswered It is sunny in Oslo\. 15\n$/,
  'skills.ts':
    /^circle_area \(skill\): \{"area":314\}\n\{ success: true, result: \{ area: 3 \} \} \{ success: false, error: 'Tool not found: square_area' \}\n$/,
  'mcp.ts': /^everything__echo everything__get-sum\nThe sum of 2 and 40 is 42\. It is 42\.\n2\n$/,
  'mcp-questions.ts':
    /^question \{\n {2}mcpServer: 'forms',\n[\s\S]+\} \[ 'name' \]\n[^\n]+\nUser inputs:\n- Name: Ann\n- Agreed to terms: true\n/,
  'mcp-sampling.ts': /^It is firn\. \{\n {2}usage: \{ inputTokens: \d+, outputTokens: \d+, totalTokens: \d+ \},\n {2}toolCalls: 0\n\}\n$/,
  'mcp-tasks.ts':
    /^lab__simulate-research-query \{ status: 'working', message: 'Gathering sources\.\.\.' \}\n(?:lab[^\n]+\n){1,3}Done\.\n$/,
  'openapi.ts': /^\{"url":"\/weather\/S%C3%A3o%20Paulo\?units=metric","key":"\[redacted\]"\}\n$/,
  'recording.ts':
    /^0600 1\.model, 1\.tool\.0, 2\.model\nthe same\n1\.model: request\.messages\[0\]\.content\n {2}- expected "Be brief\."\n {2}\+ got {6}"Be polite\."\n$/,
  'regression.ts': /^answered It is clear in Oslo\.\n$/,
  'record-provider.ts': /^It is 5\. 2 recordings\nIt is 5\.\n$/,
  'service.ts': /^200 .*Oslo.*21/,
  'responses.ts': /^weather \{"city":"Oslo"\} → Clear in Oslo\.\n17 × 23 = 391\.\n$/,
  'one-query.ts': /^Oslo is ahead\.\n$/,
  'errors.ts': /^model_error provider_error provider\ninvalid_option: Expected `maxIterations` to be an integer ≥ 1, got `0`\n$/,
  'models.ts': /^ollama\/qwen3:8b\nopenai\/gpt-6\.1-sol\ncustom\/my-model\n$/,
  'options.ts': /^answered 17 × 23 = 391\.\n$/,
  'durable-watch.ts': /^refund-18 refund\nRUN_START true\n(?:\w+ true\n)+DECISION_NEEDED undefined\nRUN_END undefined\n$/,
  'saved-job.ts': /^job 1 is done [2-6] 1\n$/,
  'durable-refund.ts': /^paused \{ order: '17', euros: 250 \}\n$/,
  'sessions.ts':
    /^You are Ann\.\n\[ 'user-17\/chat-2 idle 2', 'user-17\/chat-1 idle 4' \]\n\[ 'user: My name is Bob\.', 'assistant: Hello Bob\.' \]\n$/,
  'sessions-postgres.ts': /^session_busy\nOne moment\.\n$/,
  'own-history.ts': /^answered: 15 tokens\nanswered: 15 tokens\nI have read 3 messages\.\n$/,
  'restore.ts': /^Done: corner refunds order 17 \(refund-17\/1\.tool\.0\)\n$/,
  'effects.ts': /^Done\. \[ 'letter-4\/1\.tool\.1' \]\n$/,
  'journal.ts': /^charged\nYour card was charged\. 1\n$/,
  'recipe-node-http.ts': /^event: RESULT\ndata: \{"runId":"run_[\w-]+","stopReason":"answered",.*"output":"17 × 23 = 391\."\}\n$/,
  'recipe-hono.ts':
    /^text\/event-stream; charset=utf-8 event: RESULT\ndata: \{"runId":"run_[\w-]+","stopReason":"answered",.*"output":"17 × 23 = 391\."\}\n$/,
  'web-reconnect.ts': /^id: 3 … event: RESULT\n$/,
  'mount-express.ts': /^200 .*"stopReason":"answered"/,
  'mount-fastify.ts': /^200 .*"stopReason":"answered"/,
  'mount-node-http.ts': /^200 .*"stopReason":"answered"/,
  'mount-next.ts': /^200 .*"stopReason":"answered"/,
  'chat-table.ts': /^\[ 'm1', 'm1-1' \]\n$/,
  'client-left.ts': /^The client has left\.\naborted\n$/,
  'ui-sessions.ts': /^m1 Hi\.\nm1-1 Good morning!\nm2 Give me my money back\.\nm2-1 approval-requested\n$/,
  'ui-chat.ts': /^It was paid back\.It is on its way\.\n$/,
  'ag-ui.ts': /^tool_call May refund be called\?\nIt was paid back\.It is on its way\.\n$/,
  'tools.ts':
    /^rejected – Invalid arguments [^\n]+\nok – 50 euros are on their way to NO99\.\n2 \{ to: 'NO99', euros: 50, receipt: true \}\n$/,
  'recipe-fetch.ts': /^17 × 23 = 391\.\n$/,
  'recipe-worker.ts': /^TOOL_CALL_END calculate\nRESULT 17 × 23 = 391\.\n$/,
  'client-tools.ts': /^client_tool pick_file \nquestion book_table For how many\?\nmenu\.pdf, booked for 4 – All done\.\n$/,
  'events.ts': /^request 1\ncalculate: ok\nrequest 2\na listener of RUN_END failed: Error: the disk is full\n17 × 23 = 391\.\n$/,
  'compaction.ts': /^true true true\n$/,
  'cut-responses.ts': /^It is long\.\n$/,
  'failed-stream.ts': /^unauthorized model_error 0\n$/,
  'failover.ts': /^The second answers\. scripted-model\nI am the old one\.\nI am the new one\.\n$/,
  'dispatcher.ts':
    /^506 builtin\n\{[^\n]+391 \} \} \{ success: false, error: 'Tool not found: nothing' \}\nread_file calculate search_tools call_tool\n$/,
  'telemetry.ts':
    /^chat scripted-model < invoke_agent clerk\nSELECT lamps < execute_tool stock\nexecute_tool stock < invoke_agent clerk\nchat scripted-model < invoke_agent clerk\ninvoke_agent clerk < –\n$/,
  'custom-dialect.ts': /^5 Es sind 5\.\n$/,
}

describe('pages', () => {
  it.each(pages)('%s: every snippet of code or configuration is a file that the tests run, word for word', (page) => {
    const own = snippets.filter((snippet) => snippet.page === page)
    const all = [...read(page).matchAll(/```(?:tsx?|js|yaml|json)\n/g)].length
    expect(own.filter(({ file }) => !file.endsWith('.sh')).length).toBe(all)
    for (const { file, code } of own) expect(code.trim(), `${file} (npm run docs:snippets)`).toBe(asShown(read(file)))
  })

  it('every example is shown on a page', () => {
    const files = new Set(snippets.map(({ file }) => file).filter((file) => file.startsWith('tests/examples/')))
    expect(files.size).toBeGreaterThan(20)
    expect([...files].sort()).toEqual(shown.map((name) => `tests/examples/${name}`).sort())
  })

  it('the README has at most 300 lines and a page 250, without blank ones', () => {
    const written = (page: string) =>
      read(page)
        .split('\n')
        .filter((line) => line.trim() !== '').length
    const long = pages.filter((page) => page !== 'docs/api.md').map((page) => ({ page, lines: written(page) }))
    expect(long.filter(({ page, lines }) => lines > (page === 'README.md' ? 300 : 250))).toEqual([])
  })

  it.each(pages.filter((page) => page === 'README.md' || page.startsWith('docs/')))(
    '%s: a paragraph or an item of a list has at most three sentences',
    (page) => {
      expect(paragraphsOf(read(page)).filter((text) => sentencesOf(text) > 3)).toEqual([])
    },
  )

  it.each(docs.filter((page) => !page.startsWith('docs/decisions/') && read(page).includes('```')))(
    '%s: at most two sentences precede its first code',
    (page) => {
      const [opening = ''] = read(page).split('```')
      expect(
        paragraphsOf(opening).reduce((count, text) => count + sentencesOf(text), 0),
        opening,
      ).toBeLessThan(3)
    },
  )

  it.each(pages)('%s: every item of a list starts a line', (page) => {
    expect(prose(page).match(/^.*[.:;] \d+\. [a-z].*$/gm) ?? []).toEqual([])
  })

  it.each([...pages, ...reference])('%s: its links lead to existing files and headings', (page) => {
    for (const [, target = ''] of prose(page).matchAll(/(?:\]\(|src=")(?!https?:)([^)"]+)[)"]/g)) {
      const [path = '', heading] = target.split('#')
      const file = path === '' ? page : relative(root, join(root, dirname(page), path))
      expect(existsSync(join(root, file)), `${page} links to ${target}`).toBe(true)
      if (heading !== undefined) expect(headingsOf(file), `${page} links to ${target}`).toContain(heading)
    }
  })

  it.each(pages)('%s: the files, folders and scripts it names exist', (page) => {
    const named = [...prose(page).matchAll(/`((?:src|tests|docs|config|\.github|\.ci)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const scripts = [...read(page).matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name)
    expect(scripts.filter((name) => packageJson.scripts[name] === undefined)).toEqual([])
  })

  it('X11 each promise of SECURITY.md names existing tests that prove it', () => {
    const [, promised = ''] = /^## What is promised$([\s\S]*?)^## /m.exec(read('SECURITY.md')) ?? []
    const rows = promised.split('\n').filter((line) => /^\| (?!promise \||-)/.test(line))
    expect(rows.length).toBeGreaterThan(30)
    for (const row of rows) {
      const [, promise, proof = ''] = row.split(' | ').length === 2 ? (/^\| (.+) \| (.+) \|$/.exec(row) ?? []) : []
      const files = [...proof.matchAll(/`(tests\/[\w./-]+)`/g)].map(([, file = '']) => file)
      expect(files, `${promise ?? row} names its tests`).not.toEqual([])
      for (const file of files) {
        expect(file).toMatch(/\.test\.ts$/)
        expect(read(file), `${file}, named for: ${promise}`).toMatch(/^ *(?:it|test)(?:\.\w+)*[(<]/m)
      }
    }
  })

  it('pages of docs/ link only to files that the package ships', () => {
    const shipped = (file: string) =>
      ['package.json', 'README.md', 'LICENSE'].includes(file) || packageJson.files.includes(file.split('/')[0] ?? '')
    for (const page of docs) {
      for (const [, path = ''] of prose(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        const file = relative(root, join(root, dirname(page), path))
        expect(shipped(file), `${page} links to ${file}`).toBe(true)
      }
    }
  })

  it('the README names the longest file of src, as its first command prints it', () => {
    const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.[mc]?tsx?$/.test(file))
    const lengths = sources.map((file) => ({ file: `src/${file}`, lines: readFileSync(`src/${file}`, 'utf8').split('\n').length - 1 }))
    const [longest] = lengths.sort((one, other) => other.lines - one.lines)
    const { file, lines } = longest ?? { file: '', lines: 0 }
    expect(readFileSync('README.md', 'utf8')).toContain(`is ${file}, ${lines} lines. ${lines} × 37 = ${lines * 37}.`)
  })

  it('docs/README.md lists every page', () => {
    const linked = [...read('docs/README.md').matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, path]) => `docs/${path}`)
    expect(docs.filter((page) => page !== 'docs/README.md' && !page.startsWith('docs/decisions/') && !linked.includes(page))).toEqual([])
    const decisions = [...read('docs/decisions/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, path]) => `docs/decisions/${path}`)
    expect(decisions.sort()).toEqual(docs.filter((page) => /decisions\/\d/.test(page)).sort())
  })

  it.each([
    ['docs/options.md', { ...runnerOptions, ...runOptions, decisions: true, claim: true }],
    ['docs/providers.md', settingNames],
  ])('%s names every option', (page, names) => {
    const named = new Set([...prose(page).matchAll(/`(\w+)(?:\([^`]*)?`/g)].map(([, name]) => name))
    expect(Object.keys(names).filter((name) => !named.has(name))).toEqual([])
  })

  it('docs/options.md has the default of each limit', () => {
    const cells = new Map([...read('docs/options.md').matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name, cell]) => [name, cell]))
    for (const [name, row] of Object.entries(limitSettings)) {
      const { default: value } = row
      if (value !== undefined) expect(cells.get(name), name).toMatch(Number.isFinite(value) ? value.toLocaleString('en-US') : /^none/)
    }
  })

  it('docs/errors.md has every error code, and no other', () => {
    const table = [...read('docs/errors.md').matchAll(/^\| `([a-z_]+)` \| (programmer|model|tool|provider|caller) \| (.+) \|$/gm)]
    const documented = Object.fromEntries(table.map(([, code = '', fault, meaning]) => [code, { fault, meaning }]))
    expect(documented).toEqual(errorCodes)
  })

  it('docs/models.md has the models of the price list', () => {
    expect(read('docs/models.md').split('<!-- models -->\n')[1]).toBe(modelTables())
  })

  it('each model that a page, an example, a template, a configuration or a docstring names is in docs/models.md', () => {
    const known = providerNames().filter((provider) => !['custom', 'demo'].includes(provider))
    const providers = `(?:${known.join('|')})`
    const named = new RegExp(`(?<![\\w@/.-])(${providers}/[a-z][\\w.:-]*\\w)(?![\\w/])|provider: '?(${providers})'?, model: '([^']+)'`, 'g')
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `src/${name}`)
    const texts = [
      ...[...pages, 'config/toolloop.yaml', ...shown.map((name) => `tests/examples/${name}`), ...templates].map((file) => [
        file,
        read(file),
      ]),
      ...sources.map((file) => [file, (read(file).match(/^ *(?:\/\*\*|\*) .*$/gm) ?? []).join('\n')]),
      ['src/cli/program.ts', (read('src/cli/program.ts').match(/^ {2}toolloop .*$/gm) ?? []).join('\n')],
    ]
    const models = texts.flatMap(([file = '', text = '']) =>
      [...text.matchAll(named)].map(([, name, provider, model]) => ({ file, model: name ?? `${provider}/${model}` })),
    )
    expect(models.length).toBeGreaterThan(60)
    const listed = new Set([...read('docs/models.md').matchAll(/`([\w-]+\/[^`]+)`/g)].map(([, model]) => model))
    for (const model of listedModels()) listed.add(model)
    expect(models.filter(({ model }) => !listed.has(model))).toEqual([])
  })

  it('docs/api.md has every public name, with its kind and the first sentence of its docstring', async () => {
    await expect(run(process.execPath, ['config/api.js', '--check'], { cwd: root })).resolves.toBeDefined()
    const rows = [...read('docs/api.md').matchAll(/^\| \[`(.+)`\]\(.+?\) \| \w+ \|(.*)\|$/gm)]
    expect(rows.length).toBeGreaterThan(400)
    expect(rows.filter(([, , description = '']) => description.trim() === '').map(([, name]) => name)).toEqual([])
  })

  it('the README shows what the command prints, except for numbers and names', { timeout: 30_000 }, async () => {
    const [, prompt = '', printed = ''] = /```console\n\$ npm start --silent -- "([^"]+)"\n([\s\S]+?)\n```/.exec(read('README.md')) ?? []
    expect(prompt).not.toBe('')
    const { stdout, stderr } = await run(process.execPath, ['src/cli/main.ts', prompt], {
      cwd: root,
      // No local model server is found, because the port is closed.
      env: { npm_lifecycle_event: 'start', PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...bareEnv },
    })
    expect(shapeOf(stderr + stdout)).toBe(shapeOf(printed))
  })

  it('the changelog is short and has a section for unreleased changes', () => {
    const changelog = read('CHANGELOG.md')
    expect(changelog).toMatch(/^## \[Unreleased\]$/m)
    expect(changelog.split('\n').length).toBeLessThan(130)
  })
})

/** The paragraphs and list items of a page's text, without their bold starts and their code. */
function paragraphsOf(page: string): string[] {
  return page
    .replace(/```[\s\S]*?```/g, '')
    .split(/\n\s*\n|\n(?=- |\d+\. |\| |#|<!--)/)
    .filter((block) => !/^\s*(?:\||#|<)/.test(block))
    .map((block) =>
      block
        .trim()
        .replace(/^(?:- |\d+\. )?(?:\*\*[^*]+\*\*)?/, '')
        .replace(/`[^`]*`/g, '`x`')
        .replace(/\s+/g, ' '),
    )
}

/** The number of sentences of a paragraph. */
function sentencesOf(text: string): number {
  return text.match(/[.!?](?=[)"*]*(?: [A-Z`[*“]|$))/g)?.length ?? 0
}

/** The anchors of a page's headings, as GitHub creates them. */
function headingsOf(page: string): string[] {
  const slugs = [...prose(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  )
  // GitHub numbers the headings that have the same text.
  return slugs.map((slug, at) => {
    const before = slugs.slice(0, at).filter((other) => other === slug).length
    return before === 0 ? slug : `${slug}-${before}`
  })
}

/** What is printed, without what differs between runs: times, counts, and the longest file. */
function shapeOf(text: string): string {
  return text
    .trim()
    .replace(/\d[\d.,]*\d|\d/g, '0')
    .replace(/\b0 (?:ms|s|KiB|B)\b/g, '0')
    .replace(/src\/[\w/.-]+\.ts/g, 'src/file.ts')
}

describe('examples', () => {
  it('toolloop.yaml is a configuration that the command line accepts', async () => {
    const choice = await chooseModel({ env: {}, cwd: join(root, 'tests/examples') })
    expect(choice).toMatchObject({ name: 'inhouse/qwen3-coder', source: 'file' })
    expect(openChoice(choice).capabilities).toMatchObject({ contextWindow: 262_144, price: { input: 0.4 } })
  })

  // One after another in one process: starting one for each costs more than running them. The task of `mcp-tasks.ts` takes four seconds.
  const outputs = Promise.all([runAll(examples.filter((name) => name !== 'mcp-tasks.ts')), runAll(['mcp-tasks.ts'])]).then(
    ([quick, slow]) => new Map([...quick, ...slow]),
  )

  it.each(examples)('%s runs and prints what it should', { timeout: 60_000 }, async (name) => {
    expect((await outputs).get(name)).toMatch(printed[name] ?? /\S/)
  })
})

async function runAll(names: readonly string[]): Promise<Map<string, string>> {
  const mark = '=== example '
  const lines = names.map((name) => `console.log(${JSON.stringify(mark + name)}); await import('./tests/examples/${name}')`)
  const { stdout } = await run(process.execPath, ['-e', lines.join('\n')], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  })
  const parts = stdout.split(mark).slice(1)
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]))
}
