import { describe, expect, it } from 'vitest'
import { configSchema } from '../../src/service/config/config-schema.ts'

// The page has its own types: those of a browser.
const { suggestionsAt } = await import(new URL('../../src/page/yaml/config-completions.ts', import.meta.url).href)
const { YamlLines } = await import(new URL('../../src/page/yaml/yaml-lines.ts', import.meta.url).href)

/** What is suggested at the `|` of a text. */
function labels(text: string): string[] {
  const [before = '', after = ''] = text.split('|')
  return suggestionsAt(before, after, configSchema, ['large', 'small']).list.map(({ label }: { label: string }) => label)
}

describe('suggestionsAt', () => {
  it('suggests keys by their place, without those that are there', () => {
    expect(labels('mo|')).toEqual(expect.arrayContaining(['model', 'models', 'service']))
    expect(labels('model: demo\n|\nlimits:\n  tokens: 3\n')).not.toContain('model')
    expect(labels('model: demo\n|\nlimits:\n  tokens: 3\n')).not.toContain('limits')
    expect(labels('service:\n  keepRuns:\n    # how many\n    co|')).toEqual(expect.arrayContaining(['count', 'minutes']))
    expect(labels('service:\n  keepRuns:\n    count: 3\n    |')).not.toContain('count')
    expect(labels('service:\n  auth:\n    tokens:\n      - name: a\n        ro|')).toEqual(['roles', 'tenant', 'hash', 'env'])
    expect(labels('service:\n  auth:\n    tokens:\n    - na|')).toContain('name')
    expect(labels('models:\n  large: { provider: openai, mo|')).toContain('model')
    expect(labels('models:\n  large:\n    pri|')).toContain('price')
  })

  it('suggests values: choices, yes and no, and the names of models', () => {
    expect(labels('model: |')).toEqual(['large', 'small'])
    expect(labels('logging:\n  level: |')).toEqual(['debug', 'info', 'warn', 'error', 'silent'])
    expect(labels('telemetry: { metrics: t|')).toEqual(['true', 'false'])
    expect(labels('tools:\n  builtin: [calculate, cu|')).toContain('current_time')
    expect(labels('tools:\n  builtin:\n    - c|')).toContain('current_time')
  })

  it('suggests nothing in comments, texts, and where anything may be', () => {
    expect(labels('# mo|')).toEqual([])
    expect(labels('instructions: "mo|')).toEqual([])
    expect(labels('models:\n  |')).toEqual([])
  })

  it('writes a mapping on lines of its own, in block style', () => {
    const { list } = suggestionsAt('service:\n  ke', '', configSchema, [])
    expect(list.find(({ label }: { label: string }) => label === 'keepRuns').apply).toBe('keepRuns:\n    ')
  })
})

describe('YamlLines', () => {
  it.each([
    ['block style', 'model: demo\nmcp:\n  servers:\n    a:\n      url: x\n\n# more\nlimits: {}\n', [1, 2, 3, 4]],
    ['flow style', '{ model: demo,\n  mcp: { servers:\n    { a: { url: x } } }, limits: {} }\n', [1, 2]],
    ['one line', 'model: demo\nmcp: { servers: { a: { url: x } } }\n', [1]],
    ['quoted keys', 'model: demo\n"mcp":\n  servers: {}\n', [1, 2]],
    ['an explicit key', 'model: demo\n? mcp\n: servers: {}\n', [1, 2]],
    ['an alias', 'models:\n  a: &x\n    provider: p\nmcp: *x\n', [3, 2]],
    ['a merged mapping', 'a: &x\n  mcp:\n    b: 1\n<<: *x\n', [1, 2]],
    ['a text of several lines', 'mcp: |\n  one\n  two\nlimits: {}\n', [0, 1, 2]],
  ])('finds the lines of a value in %s', (_style, text, lines) => {
    expect(new YamlLines(text).linesOf('/mcp').filter((line: number, at: number, all: number[]) => all.indexOf(line) === at)).toEqual(lines)
  })

  it('finds the line of a failing path', () => {
    const text = `# first
model: a
providers:
  a:
    model: 1 # not this one

    driver: x
  "b c": { driver: y }
tools:
  approval:
  - one
  - two
service:
  auth:
    tokens:
      - name: a
        roles: [run]
      - name: b
        roles: [none]
limits: { maxIterations: 0 }
`
    const lines = new YamlLines(text)
    const line = (path: string) => text.split('\n')[lines.lineOf(path)]?.trim()
    expect(
      Object.fromEntries(
        [
          '/model',
          '/providers/a/driver',
          '/providers/b c/driver',
          '/tools/approval/1',
          '/service/auth/tokens/1/roles',
          '/limits/maxIterations',
          '/service/nothing',
        ].map((path) => [path, line(path)]),
      ),
    ).toEqual({
      '/model': 'model: a',
      '/providers/a/driver': 'driver: x',
      '/providers/b c/driver': '"b c": { driver: y }',
      '/tools/approval/1': '- two',
      '/service/auth/tokens/1/roles': 'roles: [none]',
      '/limits/maxIterations': 'limits: { maxIterations: 0 }',
      '/service/nothing': 'service:',
    })
    expect(lines.lineOf('/not/there')).toBeUndefined()
  })

  it('finds paths with `*`, items of lists, and the innermost part that is there', () => {
    const lines = new YamlLines(
      'providers:\n  a:\n    sdkEnvironment: true\n  b: { sdkEnvironment: true }\ntools:\n  builtin:\n    - x\n    - y\n',
    )
    expect(lines.linesOf('/providers/*/sdkEnvironment')).toEqual([2, 3])
    expect(lines.lineOf('/tools/builtin/1')).toBe(7)
    expect(lines.lineOf('/tools/workspace')).toBe(4)
    expect(lines.lineOf('/nothing')).toBeUndefined()
    expect(lines.keysOf('/providers')).toEqual(['a', 'b'])
  })

  it('ends with texts that have errors, cycles, and no mapping', () => {
    const bomb = Array.from({ length: 30 }, (_, at) => `a${at}: &a${at} { <<: [*a${at - 1}, *a${at - 1}] }\n`)
      .join('')
      .concat('<<: *a29\n')
    for (const text of [
      'a: [',
      'a: &x [*x]\nmcp: *x',
      '',
      '- 1',
      'mcp: *unknown',
      '"mcp',
      '<<: *x',
      '&x <<: *x\nmcp: 1',
      'a: &x { <<: *x, mcp: 1 }',
      bomb,
    ])
      expect(() => new YamlLines(text).linesOf('/mcp')).not.toThrow()
  })
})
