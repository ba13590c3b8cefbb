import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { referredSchema } from '../../src/models/conversion/schema-reference.ts'

const schema: JsonObject = {
  type: 'object',
  properties: {
    'a/b~c': { type: 'string', title: 'escaped' },
    'ä b': { type: 'string', title: 'encoded' },
    '100%': { type: 'string', title: 'not encoded' },
    other: { $id: 'other', $defs: { x: { $anchor: 'inOther', title: 'of another schema' } } },
    text: { default: '$anchor' },
  },
  anyOf: [{ title: 'first' }, { title: 'second', items: [{ $anchor: 'deep', title: 'anchored' }] }],
  $defs: { '0': { title: 'by name' }, dynamic: { $dynamicAnchor: 'node', title: 'dynamic' } },
}

it.each([
  ['#', schema],
  ['#/anyOf/1', { title: 'second' }],
  ['#/anyOf/1/items/0', { title: 'anchored' }],
  ['#deep', { title: 'anchored' }],
  ['#node', { title: 'dynamic' }],
  ['#/$defs/0', { title: 'by name' }],
  ['#/properties/a~1b~0c', { title: 'escaped' }],
  ['#/properties/%C3%A4%20b', { title: 'encoded' }],
  ['#/properties/ä b', { title: 'encoded' }],
  ['#/properties/100%', { title: 'not encoded' }],
  ['#/%24defs/0', { title: 'by name' }],
])('a reference in a schema leads to its schema: %s', (ref, found) => {
  expect(referredSchema(ref, schema)).toMatchObject(found)
})

it.each([
  '',
  'other.json',
  '#none',
  '#inOther',
  '#/anyOf/2',
  '#/anyOf/01',
  '#/anyOf/-',
  '#/anyOf/length',
  '#/$defs/toString',
  '#/type',
  '#/',
])('a reference that leads nowhere in a schema is undefined: %s', (ref) => {
  expect(referredSchema(ref, schema)).toBeUndefined()
})
