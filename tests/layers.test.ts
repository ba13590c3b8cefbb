import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const src = join(root, 'src')
/** Files written by hand: `service/page` is bundled from `page`. */
const named = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => !name.startsWith('service/page/'))
const files = named.filter((name) => /\.(ts|tsx|js)$/.test(name) && !/\.d\.ts$/.test(name))
/** Modules that load packages synchronously, and their declarations. */
const commonJs = named.filter((name) => /\.c[jt]s$/.test(name))

/** The parts of src that each part may import. A part is a folder. */
const allowed: Record<string, string[]> = {
  core: [],
  tools: ['core'],
  dialects: ['core', 'tools/tool.ts', 'tools/call/written-name.ts'],
  models: ['core', 'tools/tool.ts', 'dialects/reader/thinking.ts'],
  /** How a run is sent to a page. Below the agent; knows its results as types. */
  'ui/web': ['core', 'agent/types/result.ts'],
  agent: [
    'core',
    'tools',
    'ui/web',
    'models/chat-model.ts',
    'models/create-model.ts',
    'models/combined/fallback.ts',
    'models/usage.ts',
    'dialects/dialect.ts',
    'dialects/names.ts',
    'dialects/index.ts',
    'dialects/formats/tool-action.ts',
    'dialects/reader/parser.ts',
    'dialects/reader/thinking.ts',
  ],
  pipeline: ['core', 'tools', 'dialects', 'models', 'agent'],
  backends: ['core', 'tools', 'dialects', 'models', 'agent'],
  'code-mode': ['core', 'tools', 'models', 'agent'],
  sql: [],
  sqlite: ['core', 'sql'],
  journals: ['core', 'tools', 'dialects', 'models', 'agent', 'sql', 'sqlite'],
  sessions: ['core', 'tools', 'dialects', 'models', 'agent', 'sql', 'sqlite'],
  ui: ['core', 'tools', 'agent', 'ui/web'],
  recording: ['core', 'tools', 'dialects', 'models', 'agent'],
  service: ['core', 'tools', 'dialects', 'models', 'agent', 'code-mode', 'journals', 'sessions', 'ui', 'ui/web', 'telemetry', 'recording'],
  page: ['core/text/visible.ts', 'core/text/line-diff.ts', 'core/text/text-edits.ts', 'core/runs/index.ts', 'core/runs/run-states.ts'],
  telemetry: ['core', 'tools', 'dialects', 'models', 'agent'],
  testing: ['core', 'tools', 'dialects', 'models', 'agent', 'code-mode', 'recording'],
  cli: [
    'core',
    'tools',
    'dialects',
    'models',
    'agent',
    'code-mode',
    'pipeline',
    'backends',
    'journals',
    'sessions',
    'recording',
    'service',
    'telemetry',
    'testing',
    'index.ts',
  ],
}

/**
 * The floors of each folder with folders of its own, the lowest first. What is on a floor only imports from floors below it. A `*` stands
 * for the files that are not named. Files on the same floor may import each other; folders may not.
 */
const floors: Record<string, string[]> = {
  agent: [
    'types',
    'step-keys.ts run-texts.ts',
    'conversation limits output text-calls journal decisions callbacks',
    'nested large-results sessions observe',
    'options',
    'options.ts',
    'run',
    'calls',
    'turn',
    'middleware',
    'middleware.ts',
    'sub-agents',
    'loop.ts',
    'runner',
    'durable',
    '*',
  ],
  'agent/calls': ['*', 'waiting', 'tool-round.ts', 'intents.ts'],
  'agent/durable': ['replay', '*'],
  'agent/middleware': ['hooks guardrails', 'structured-output', '*'],
  models: [
    '*',
    'errors',
    'conversion streaming demo',
    'middleware transport',
    'anthropic google openai',
    'openai-responses',
    'create-model.ts',
    'ai-driver.ts combined',
  ],
  service: [
    'http',
    'max-argument-values.ts metrics.ts run-bounds.ts',
    'recordings redaction tenants',
    'config',
    'agents',
    'runs',
    'chat mcp overview run-requests',
    'responses',
    'service-parts.ts',
    'threads',
    'routes',
    '*',
  ],
  'service/runs': ['*', 'recorded', 'resumed-runs.ts say-to-run.ts unrecorded-runs.ts', 'listed', 'run-store.ts'],
  tools: ['schema', '*', 'call', 'tool-runner.ts', 'deferred-tools.ts dispatcher.ts', 'builtin', 'openapi sandbox', 'skills', 'mcp'],
  'tools/builtin': ['calculator files', 'web', '*'],
  'tools/mcp': ['auth-options.ts', 'sdk', 'server-config.ts within.ts', 'auth server', 'transport', 'client', 'index.ts'],
  'tools/mcp/client': [
    'call-time.ts set-aside.ts server-status.ts server-words.ts',
    'listing',
    'trust.ts',
    'calls',
    'context session',
    '*',
  ],
  'tools/sandbox': ['sandbox.ts', 'process vm', '*'],
  'tools/schema': ['*', 'patterns', 'open-ajv.ts schema.ts', 'foreign', 'read-values.ts coerce.ts infer.ts written-schema.ts'],
}

/** Types of the agent that every floor may import. They refer to classes of floors above as types. */
const groundFloor = 'agent/types/'

/** The floor of a child of a folder, from 0; -1 if the folder has no such floor. */
function floorOf(folder: string, child: string): number {
  const named = (floors[folder] ?? []).map((floor) => floor.split(' '))
  const floor = named.findIndex((names) => names.includes(child))
  return floor === -1 && child.includes('.') ? named.findIndex((names) => names.includes('*')) : floor
}

/** Imports from a child of a folder to another child that is not on a floor below. */
function upwardImports(): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap(({ line, target }) => {
      const [from, to] = [file.split('/'), target.split('/')]
      const depth = from.findIndex((name, index) => name !== to[index])
      const folder = from.slice(0, depth).join('/')
      const [child = '', other = ''] = [from[depth], to[depth]]
      if (floors[folder] === undefined || file.startsWith(groundFloor)) return []
      const [own, its] = [floorOf(folder, child), floorOf(folder, other)]
      const areFiles = child.includes('.') && other.includes('.')
      return its !== -1 && (its < own || (its === own && areFiles))
        ? []
        : [`src/${file}:${line} imports ${target}: in ${folder}/, ${other} is not on a floor below ${child}`]
    }),
  )
}

function partOf(file: string): string {
  if (file.startsWith('ui/web/')) return 'ui/web'
  const [first = '', rest] = file.split('/')
  return rest === undefined ? 'index' : first
}

function importsOf(file: string): { line: number; target: string }[] {
  const found: { line: number; target: string }[] = []
  readFileSync(join(src, file), 'utf8')
    .split('\n')
    .forEach((text, index) => {
      const specifier = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/.exec(text)?.[1]
      if (specifier !== undefined) found.push({ line: index + 1, target: relative(src, resolve(dirname(join(src, file)), specifier)) })
    })
  return found
}

/** Files that import themselves, directly or indirectly; each circle once. */
function circles(): string[][] {
  const graph = new Map(files.map((file) => [file, importsOf(file).map(({ target }) => target)]))
  const reach = new Map<string, Set<string>>()
  for (const file of files) {
    const seen = new Set<string>()
    const open = [...(graph.get(file) ?? [])]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue
      seen.add(next)
      open.push(...(graph.get(next) ?? []))
    }
    reach.set(file, seen)
  }
  const inCircles = files.filter((file) => reach.get(file)?.has(file))
  const found = inCircles.map((file) => inCircles.filter((other) => reach.get(file)?.has(other) && reach.get(other)?.has(file)))
  return [...new Map(found.map((circle) => [circle.join(), circle])).values()]
}

function isEsm(file: string): boolean {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.mjs')
  const { type } = JSON.parse(readFileSync(findPackageJSON(pathToFileURL(file)) ?? '', 'utf8'))
  return type === 'module'
}

describe('layers', () => {
  it('each part imports only from the layers below it', () => {
    const offences: string[] = []
    for (const file of files) {
      const part = partOf(file)
      if (part === 'index') continue
      const rules = allowed[part]
      if (rules === undefined) {
        offences.push(`src/${file}: no rule for the part \`${part}\``)
        continue
      }
      for (const { line, target } of importsOf(file)) {
        const to = partOf(target)
        if (to !== part && !rules.includes(to) && !rules.includes(target)) offences.push(`src/${file}:${line} imports ${target}`)
      }
    }
    expect(offences).toEqual([])
  })

  it('in agent, models, service and tools, each folder imports only from the floors below its own', () => {
    const folders = new Set(
      files.map((file) => dirname(dirname(file))).filter((folder) => /^(agent|models|service|tools)(\/|$)/.test(folder)),
    )
    expect([...folders].filter((folder) => floors[folder] === undefined)).toEqual([])
    const gone = Object.entries(floors).flatMap(([folder, names]) =>
      names
        .flatMap((floor) => floor.split(' '))
        .filter((name) => name !== '*' && !existsSync(join(src, folder, name)))
        .map((name) => `${folder}/${name}`),
    )
    expect(gone).toEqual([])
    expect(upwardImports()).toEqual([])
  })

  it('the ground floor of the agent has types only', () => {
    const code = /^(export )?(async |abstract )?(function|class|const|let)\b|^(import|export) (?!type\b)(?!interface\b)/
    const found = files
      .filter((file) => file.startsWith(groundFloor))
      .flatMap((file) =>
        readFileSync(join(src, file), 'utf8')
          .split('\n')
          .flatMap((text, index) => (code.test(text) ? [`src/${file}:${index + 1} ${text}`] : [])),
      )
    expect(found).toEqual([])
  })

  it('no files import each other in a circle, not even for types', () => {
    expect(circles()).toEqual([])
  })

  it('the import scan finds the imports', () => {
    expect(importsOf('agent/loop.ts').map(({ target }) => target)).toContain('agent/calls/tool-round.ts')
    expect(importsOf('page/app.tsx').map(({ target }) => target)).toContain('page/shell/app.tsx')
  })

  it('imports name existing files, with their own extensions', () => {
    const missing = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => !existsSync(join(src, target)))
        .map(({ line, target }) => `src/${file}:${line} imports ${target}`),
    )
    expect(missing).toEqual([])
  })

  it('no CommonJS package is imported dynamically: esbuild gives such an import no names', () => {
    const specifiers = new Set(
      files.flatMap((file) =>
        [...readFileSync(join(src, file), 'utf8').matchAll(/await import\('([^.'][^']*)'\)|\bimport\('([^.'][^']*)'\)\./g)].map(
          ([, awaited, chained]) => awaited ?? chained ?? '',
        ),
      ),
    )
    expect([...specifiers]).toContain('openai')
    const isCommonJs = (specifier: string) => !isEsm(fileURLToPath(import.meta.resolve(specifier)))
    expect([...specifiers].filter((specifier) => !specifier.startsWith('node:') && isCommonJs(specifier))).toEqual([])
  })

  it('only the package entry branches on the name of a model’s provider', () => {
    const names =
      /['"](openai|anthropic|google|deepseek|moonshot|doubao|ollama|vllm|openrouter|azure|groq|mistral|xai|lmstudio)['"]\s*(===|!==|:)|(===|!==)\s*['"](openai|anthropic|google|deepseek|moonshot|doubao|ollama|vllm|openrouter|azure|groq|mistral|xai|lmstudio)['"]/
    const offences = files
      .filter((file) => /^(agent|tools|dialects)\//.test(file) || partOf(file) === 'core')
      .flatMap((file) =>
        readFileSync(join(src, file), 'utf8')
          .split('\n')
          .flatMap((text, index) => (names.test(text) ? [`src/${file}:${index + 1} ${text.trim()}`] : [])),
      )
    expect(offences).toEqual([])
  })
})

describe('files', () => {
  const data = ['models/bundled-presets.ts', 'service/config/config-schema.ts', 'service/http/schemas.ts']

  it('the loop is one file of at most 250 lines, and no file has more than 500, except for data', () => {
    const lines = (file: string) => readFileSync(join(src, file), 'utf8').split('\n').length - 1
    expect(lines('agent/loop.ts')).toBeLessThanOrEqual(250)
    const long = files.filter((file) => lines(file) > 500 && !data.includes(file))
    expect(long.map((file) => `${file}: ${lines(file)}`)).toEqual([])
  })

  it('no folder has more than 14 files of its own, unless they are all of one kind', () => {
    const ofOneKind = ['dialects/formats']
    const sizes = new Map<string, number>()
    for (const file of [...files, ...commonJs]) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1)
    expect([...sizes].filter(([folder, size]) => size > 14 && !ofOneKind.includes(folder))).toEqual([])
  })

  it('the map in src/README.md names every file or its folder once, and nothing else', () => {
    const map = readFileSync(join(src, 'README.md'), 'utf8')
    const listed = [...map.matchAll(/^\s*- `([^`]+)`/gm)].map((match) => match[1] ?? '')
    const toList = [...files, ...commonJs.filter((file) => file.endsWith('.cjs'))]
    const missing = toList.filter((file) => !listed.some((name) => name === file || (name.endsWith('/') && file.startsWith(name))))
    expect(missing).toEqual([])
    expect(listed.filter((name) => !existsSync(join(src, name)))).toEqual([])
    expect(listed.filter((name, at) => listed.indexOf(name) !== at)).toEqual([])
  })

  it('the reading order in src/agent/README.md has at most six files and 1,000 lines', () => {
    const page = readFileSync(join(src, 'agent/README.md'), 'utf8')
    const order = [...page.matchAll(/^\d+\. `([^`]+\.ts)`: /gm)].map(([, name]) => `agent/${name}`)
    expect(order[0]).toBe('agent/loop.ts')
    expect(order.length).toBeLessThanOrEqual(6)
    const lines = order.map((file) => readFileSync(join(src, file), 'utf8').split('\n').length - 1)
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1_000)
    const named = [...page.matchAll(/`([\w-]+(?:\/[\w-]+)*\.ts)`/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !existsSync(join(src, 'agent', name)) && name !== 'tests/layers.test.ts')).toEqual([])
  })

  it('nothing is typed loosely: no any, no double casts, no suppressed checks', () => {
    const loose = /\bas any\b|: any\b|<any>|as unknown as|@ts-(ignore|expect-error|nocheck)|biome-ignore|\bexport \*|\bexport default\b/
    const offences = files
      .filter((file) => !data.includes(file))
      .flatMap((file) =>
        readFileSync(join(src, file), 'utf8')
          .split('\n')
          .flatMap((text, index) => (!/^\s*(\*|\/[/*])/.test(text) && loose.test(text) ? [`src/${file}:${index + 1} ${text.trim()}`] : [])),
      )
    expect(offences).toEqual([])
  })
})

/** The packages and built-in modules that a script loads in its own process. */
function loadedBy(script: string): { packages: string[]; builtins: string[] } {
  const watched = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
    ${script}
    console.log(JSON.stringify(loaded))`
  const loaded: string[] = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', watched], { encoding: 'utf8' }))
  const packages = new Set(loaded.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))
  return { packages: [...packages].sort(), builtins: loaded.filter((url) => url.startsWith('node:')) }
}

describe("import 'toolloop'", () => {
  const url = (entry: string) => JSON.stringify(new URL(`../src/${entry}`, import.meta.url).href)

  it.each(['index.ts', 'backends/index.ts'])(
    'loads no SDK, no server, no database, no LangChain and no other heavy package: %s',
    (entry) => {
      const { packages, builtins } = loadedBy(`await import(${url(entry)})`)
      expect(packages).toEqual(['eventemitter3', 'p-timeout'])
      expect(builtins.filter((name) => /^node:(http|https|http2|net|tls|sqlite|child_process|worker_threads)$/.test(name))).toEqual([])
    },
  )

  it('loads only `@opentelemetry/api` for telemetry: the SDK is loaded with an export', () => {
    const { packages } = loadedBy(`const { telemetry } = await import(${url('telemetry/index.ts')}); telemetry()`)
    expect(packages).toEqual(['@opentelemetry/api'])
  })

  it('loads nothing more for a model, a tool and a runner: the schema compiler is loaded with the first call', () => {
    const { packages } = loadedBy(`
      const { AgentRunner, createModel, defineTool } = await import(${url('index.ts')})
      const model = createModel('openai/gpt-5.2')
      const parameters = { type: 'object', properties: { city: { type: 'string', description: 'Its name' } }, required: ['city'] }
      new AgentRunner({ model, tools: [defineTool({ name: 'weather', description: 'The weather', parameters, execute: () => '21 °C' })] })`)
    expect(packages).toEqual(['eventemitter3', 'p-timeout'])
  })
})
