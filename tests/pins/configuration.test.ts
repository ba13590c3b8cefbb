import { readFileSync } from 'node:fs'
import { it } from 'vitest'
import { expectPinned } from './expect-pinned.ts'
import { fieldsOf, type Schema } from './json-schema-fields.ts'

it('the keys of the configuration', () => {
  const file = new URL('../../config/toolloop.schema.json', import.meta.url)
  const schema: Schema & { $defs: Record<string, Schema> } = JSON.parse(readFileSync(file, 'utf8'))
  const shared = Object.entries(schema.$defs).flatMap(([name, definition]) => fieldsOf(definition, name))
  expectPinned('configuration.txt', [...fieldsOf(schema, 'toolloop.yaml'), ...shared])
})
