import fc from 'fast-check'
import type { JsonObject } from '../../src/core/messages.ts'

/** A closed object with only required properties. */
export function closed(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** JSON Schemas of objects as people write them: some closed, some with keywords that not every provider accepts. */
export const anySchema: fc.Arbitrary<JsonObject> = fc.letrec<{ schema: JsonObject; object: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonObject>(
      { type: 'string' },
      { type: 'string', format: 'email', minLength: 1 },
      { type: 'string', format: 'date' },
      { type: 'integer', minimum: 0 },
      { type: ['string', 'null'] },
      { enum: ['a', 'b'] },
      { type: 'string', enum: ['a', 'b'] },
      { const: 1 },
      { $ref: '#/$defs/x' },
      {},
    ),
    tie('schema').map((items) => ({ type: 'array', items })),
    tie('schema').map((items) => ({ type: 'array', items, minItems: 2, maxItems: 5, uniqueItems: true })),
    fc.tuple(tie('schema'), tie('schema')).map((anyOf) => ({ anyOf })),
    fc.tuple(tie('schema'), tie('schema')).map((oneOf) => ({ oneOf, description: 'Either.' })),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { noNullPrototype: true }),
      fc.constantFrom('closed', 'open', 'map'),
    )
    .map(([properties, kind]) => {
      if (kind === 'closed') return closed(properties)
      return kind === 'open' ? { type: 'object', properties } : { type: 'object', properties, additionalProperties: { type: 'string' } }
    }),
})).object
