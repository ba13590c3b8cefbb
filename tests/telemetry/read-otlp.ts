import type { Received } from './collector.ts'

/** A field of a protobuf message: a number, or bytes with a text or another message. */
type Field = bigint | Buffer

/** All fields of a message by their numbers. Throws if it is not protobuf. */
function fieldsOf(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) throw new Error('A number is cut off')
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('A field is cut off')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    if (![0, 1, 2, 5].includes(wire) || tag >> 3 === 0) throw new Error(`No field begins with ${tag}`)
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()))
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

const messages = (bytes: Buffer, field: number): Buffer[] => (fieldsOf(bytes).get(field) ?? []).map((one) => one as Buffer)
const text = (bytes: Buffer, field: number): string => messages(bytes, field)[0]?.toString() ?? ''
const hex = (bytes: Buffer, field: number): string => messages(bytes, field)[0]?.toString('hex') ?? ''
const number = (bytes: Buffer, field: number): number => Number(fieldsOf(bytes).get(field)?.[0] ?? 0)
const fixed64 = (bytes: Buffer, field: number): bigint => messages(bytes, field)[0]?.readBigUInt64LE() ?? 0n
const double = (bytes: Buffer, field: number): number => messages(bytes, field)[0]?.readDoubleLE() ?? 0

/** An `AnyValue`. */
function anyValueOf(bytes: Buffer): unknown {
  for (const [field, [value]] of fieldsOf(bytes)) {
    if (typeof value === 'bigint') return field === 2 ? value === 1n : Number(BigInt.asIntN(64, value))
    if (value === undefined) continue
    if (field === 1) return value.toString()
    return field === 4 ? value.readDoubleLE() : messages(value, 1).map(anyValueOf)
  }
  return undefined
}

function attributesOf(bytes: Buffer, field: number): Record<string, unknown> {
  return Object.fromEntries(messages(bytes, field).map((pair) => [text(pair, 1), messages(pair, 2).map(anyValueOf)[0]]))
}

export interface ReadSpan {
  resource: Record<string, unknown>
  scope: string
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: number
  start: bigint
  end: bigint
  attributes: Record<string, unknown>
  events: { name: string; attributes: Record<string, unknown> }[]
  status: number
}

/** The spans of an `ExportTraceServiceRequest`, in protobuf. */
export function readSpans({ body }: Received): ReadSpan[] {
  return messages(body, 1).flatMap((ofResource) => {
    const resource = attributesOf(messages(ofResource, 1)[0] ?? Buffer.alloc(0), 1)
    return messages(ofResource, 2).flatMap((ofScope) => {
      const scope = text(messages(ofScope, 1)[0] ?? Buffer.alloc(0), 1)
      return messages(ofScope, 2).map((span) => ({
        resource,
        scope,
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: text(span, 5),
        kind: number(span, 6),
        start: fixed64(span, 7),
        end: fixed64(span, 8),
        attributes: attributesOf(span, 9),
        events: messages(span, 11).map((event) => ({ name: text(event, 2), attributes: attributesOf(event, 3) })),
        status: number(messages(span, 15)[0] ?? Buffer.alloc(0), 3),
      }))
    })
  })
}

export interface ReadMetric {
  name: string
  unit: string
  temporality: number
  points: { attributes: Record<string, unknown>; value?: number; count?: number; sum?: number; buckets?: number[]; bounds?: number[] }[]
}

/** The metrics of an `ExportMetricsServiceRequest`, in protobuf. */
export function readMetrics({ body }: Received): ReadMetric[] {
  const all = messages(body, 1).flatMap((ofResource) => messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2)))
  return all.map((metric) => {
    const [histogram] = messages(metric, 9)
    const data = histogram ?? messages(metric, 7)[0] ?? Buffer.alloc(0)
    const points = messages(data, 1).map((point) =>
      histogram === undefined
        ? { attributes: attributesOf(point, 7), value: double(point, 4) }
        : {
            attributes: attributesOf(point, 9),
            count: Number(fixed64(point, 4)),
            sum: double(point, 5),
            buckets: eights(messages(point, 6)[0]).map((bytes) => Number(bytes.readBigUInt64LE())),
            bounds: eights(messages(point, 7)[0]).map((bytes) => bytes.readDoubleLE()),
          },
    )
    return { name: text(metric, 1), unit: text(metric, 3), temporality: number(data, 2), points }
  })
}

function eights(packed: Buffer = Buffer.alloc(0)): Buffer[] {
  return Array.from({ length: packed.length / 8 }, (_, at) => packed.subarray(at * 8, at * 8 + 8))
}
