import { describe, expect, it } from 'vitest'
import { createService } from '../../src/service/index.ts'
import { configFile } from './start-service.ts'

const url = 'postgres://toolloop:hunter2222@127.0.0.1:1/toolloop'

describe('service.journal', () => {
  it('an unreachable database keeps the service from starting, with a message without its password', { timeout: 60_000 }, async () => {
    const { file, folder } = await configFile(`service: { journal: { kind: dbos, url: '\${DATABASE_URL}' } }\n`)
    const { ready } = createService({ configFile: file, cwd: folder, env: { DATABASE_URL: url } })
    const message = await ready.then(
      () => '',
      (error: Error) => error.message,
    )
    expect(message).toMatch(/Expected `service.journal` to be a database that can be used .*127\.0\.0\.1:1\/toolloop.*can’t be reached/)
    expect(message).not.toContain('hunter2222')
  })
})
