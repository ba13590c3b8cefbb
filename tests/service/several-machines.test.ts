import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../../src/service/config/parse-config.ts'
import { readLimits } from '../../src/service/config/service-limits.ts'
import { createService } from '../../src/service/index.ts'
import { configFile } from './start-service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const url = 'postgres://toolloop:hunter2222@127.0.0.1:1/toolloop'

interface Service {
  build?: { context: string; dockerfile: string; args: Record<string, string> }
  image?: string
  environment?: Record<string, string>
  configs?: { source: string; target: string }[]
  depends_on?: string[] | Record<string, { condition: string }>
  volumes?: string[]
  healthcheck?: object
}
interface Compose {
  services: Record<string, Service>
  configs: Record<string, { content: string }>
  volumes: Record<string, unknown>
}

describe('config/compose.yaml', () => {
  const file = 'config/compose.yaml'
  const { services, configs, volumes }: Compose = parse(read(file))
  const ours = Object.entries(services).filter(([, { build }]) => build !== undefined)
  /** As Compose hands it over. */
  const contentOf = (name: string) => configs[name]?.content.replaceAll('$$', '$') ?? ''

  it('names only existing files and variables', () => {
    expect(ours).toHaveLength(2)
    for (const [, { build }] of ours) {
      const context = resolve(dirname(join(root, file)), build?.context ?? '')
      const dockerfile = readFileSync(resolve(context, build?.dockerfile ?? ''), 'utf8')
      for (const [, copied = ''] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm))
        for (const path of copied.split(' ')) expect(existsSync(join(context, path)), path).toBe(true)
      for (const name of Object.keys(build?.args ?? {})) expect(dockerfile).toContain(`ARG ${name}=`)
      const packages = (build?.args.PACKAGES ?? '').split(' ').map((name) => name.replace(/@\d+$/, ''))
      expect(Object.keys(JSON.parse(read('package.json')).peerDependencies)).toEqual(expect.arrayContaining(packages))
    }
    for (const { configs: used = [], depends_on = [], volumes: mounted = [], image, build } of Object.values(services)) {
      expect(image ?? build).toBeDefined()
      for (const { source } of used) expect(Object.keys(configs)).toContain(source)
      for (const name of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) expect(Object.keys(services)).toContain(name)
      for (const volume of mounted) expect(Object.keys(volumes)).toContain(volume.split(':')[0])
    }
    expect(services.postgres?.healthcheck).toBeDefined()
    const [, comment = ''] = /^((?:#.*\n)+)/.exec(read(file)) ?? []
    for (const [, name = ''] of read(file).matchAll(/\$\{(\w+):\?/g)) expect(comment).toContain(name)
  })

  it('configures both services alike, with their runs in that database, behind the proxy', async () => {
    const { config } = await parseConfig(contentOf('toolloop'), 'toolloop.yaml', { DATABASE_URL: url })
    expect(readLimits(config).runs).toEqual({ kind: 'dbos', url })
    const { port } = readLimits(config)
    expect(read('config/Dockerfile')).toContain(`EXPOSE ${port}`)
    const hosts = [...contentOf('nginx').matchAll(/^\s+server (\S+);$/gm)].map(([, host]) => host)
    expect(hosts).toEqual(ours.map(([name]) => `${name}:${port}`))
    for (const [, { environment, configs: used = [] }] of ours) {
      expect(environment?.DATABASE_URL).toMatch(/^postgres:\/\/toolloop:.*@postgres:5432\/toolloop$/)
      expect(used.map(({ target }) => target)).toEqual(['/workspace/toolloop.yaml'])
    }
    expect(read('config/Dockerfile')).toContain('WORKDIR /workspace')
  })
})

describe('service.journal', () => {
  it('the page’s example is a valid configuration', async () => {
    const env = { DATABASE_URL: url, APP_TOKEN: 'x' }
    const { config } = await parseConfig(read('tests/examples/service-postgres.yaml'), 'toolloop.yaml', env)
    expect(readLimits(config)).toMatchObject({ runs: { kind: 'dbos' }, keepRuns: { waitingCharacters: 256_000_000 } })
  })

  it.each([
    ['{ journal: { kind: sqlite } }', '/service/keepRuns/folder must name the folder of the journal'],
    [`{ journal: { kind: dbos, url: '\${DATABASE_URL}' }, keepRuns: { folder: x } }`, '/service/keepRuns/folder must be absent'],
    ['{ journal: { kind: dbos } }', 'url'],
    ["{ journal: { kind: dbos, url: 'mysql://localhost/x' } }", '/service/journal/url'],
    [`{ journal: { kind: dbos, url: '${url}' } }`, '/service/journal/url must not be in the file'],
  ])('an invalid value is refused: %s', async (text, words) => {
    const { file, folder } = await configFile(`service: ${text}\n`)
    const service = createService({ configFile: file, cwd: folder, env: { DATABASE_URL: url } })
    await expect(service.ready).rejects.toThrow(words)
  })
})
