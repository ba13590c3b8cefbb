import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

it('npm run generate was run after the last change to providers.yaml, toolloop.schema.json or the version', () => {
  expect(() => execFileSync(process.execPath, ['config/generate.js', '--check'], { stdio: 'pipe' })).not.toThrow()
})
