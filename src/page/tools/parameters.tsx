import { readable } from '../../core/text/visible.ts'
import type { JsonSchema } from '../types.ts'

/** Lists the parameters of a tool, each with a short description. */
export function Parameters({ schema }: { schema: JsonSchema | undefined }) {
  const properties = Object.entries(schema?.properties ?? {})
  const required = new Set(schema?.required)
  if (properties.length === 0) return <p class="muted">No arguments.</p>
  return (
    <dl class="parameters">
      {properties.map(([name, inner]) => (
        <Parameter key={name} name={name} schema={inner} isRequired={required.has(name)} />
      ))}
    </dl>
  )
}

function Parameter({ name, schema, isRequired }: { name: string; schema: JsonSchema; isRequired: boolean }) {
  return (
    <>
      <dt>
        <code>{name}</code>
        {isRequired && <span class="required">required</span>}
      </dt>
      <dd>
        <span class="type">{typeOf(schema)}</span>
        {schema?.description !== undefined && <span>{readable(String(schema.description))}</span>}
      </dd>
    </>
  )
}

/** Describes a schema in a few words. The schema may be any value, because servers may send anything. */
function typeOf(schema: JsonSchema | undefined): string {
  if (typeof schema !== 'object' || schema === null) return 'anything'
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return choices.map(typeOf).join(' | ')
  const bounds = [
    schema.minimum !== undefined && `≥ ${schema.minimum}`,
    schema.maximum !== undefined && `≤ ${schema.maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean)
  const type = schema.type === 'array' ? `${itemsOf(schema)}[]` : [schema.type ?? 'anything'].flat().join(' | ')
  return [type, ...bounds].join(', ')
}

function itemsOf({ items }: JsonSchema): string {
  const type = typeOf(items)
  return /[ ,]/.test(type) ? `(${type})` : type
}
