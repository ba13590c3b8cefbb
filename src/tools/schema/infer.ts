import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { JsonSchema } from './schema.ts'

/** The types that a tool's `parameters` may have. */
export type ParametersSchema = StandardSchemaV1 | JsonSchema

/** The arguments that `execute` receives: the schema's output. */
export type ArgsOf<S> =
  IsAnySchema<S> extends true ? JsonObject : S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : FromObjectSchema<S>

/** The arguments as the model writes them, before a Standard Schema transforms them. */
export type InputOf<S> =
  IsAnySchema<S> extends true ? JsonObject : S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : FromObjectSchema<S>

/** True if `S` is too general for types to be inferred from it. */
export type IsAnySchema<S> = [ParametersSchema] extends [S] ? true : false

/**
 * The type of the values that a JSON Schema literal accepts. Supports the keywords that tools usually use: `type`, `properties`,
 * `required`, `items`, `enum`, `const`, `anyOf`, `oneOf`. Any other keyword widens the type to `Json`.
 */
export type FromSchema<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { anyOf: readonly (infer A)[] }
      ? FromSchema<A>
      : S extends { oneOf: readonly (infer O)[] }
        ? FromSchema<O>
        : S extends { type: infer T }
          ? FromType<T extends readonly (infer U)[] ? U : T, S>
          : Json

type FromType<T, S> = T extends 'string'
  ? string
  : T extends 'number' | 'integer'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'null'
        ? null
        : T extends 'array'
          ? S extends { items: infer I }
            ? FromSchema<I>[]
            : Json[]
          : T extends 'object'
            ? FromObjectSchema<S>
            : Json

/** The arguments of a tool with this schema. `JsonObject` if the schema's literal type is unknown. */
type FromObjectSchema<S> = S extends { properties: infer P extends object }
  ? keyof P extends never
    ? JsonObject
    : Flat<
        { -readonly [K in keyof P as K extends Required<S> ? K : never]: FromSchema<P[K]> } & {
          -readonly [K in keyof P as K extends Required<S> ? never : K]?: FromSchema<P[K]>
        }
      >
  : JsonObject

type Required<S> = S extends { required: readonly (infer R)[] } ? R : never
type Flat<T> = { [K in keyof T]: T[K] }
