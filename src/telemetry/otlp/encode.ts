/** A message of OTLP as its JSON has it: ids are hexadecimal, integers of 64 bits are decimal. */
export type OtlpMessage = { readonly [field: string]: unknown }

type Scalar = 'string' | 'bytes' | 'bool' | 'varint' | 'fixed32' | 'fixed64' | 'double' | 'packed doubles' | 'packed fixed64'
/** What a message's fields are in protobuf: their numbers and types. */
interface Fields {
  readonly [name: string]: readonly [number: number, type: Scalar | Fields | (() => Fields)]
}

// https://github.com/open-telemetry/opentelemetry-proto/tree/main/opentelemetry/proto
const arrayValue: Fields = { values: [1, () => anyValue] }
const anyValue: Fields = {
  stringValue: [1, 'string'],
  boolValue: [2, 'bool'],
  intValue: [3, 'varint'],
  doubleValue: [4, 'double'],
  arrayValue: [5, arrayValue],
}
const keyValue: Fields = { key: [1, 'string'], value: [2, anyValue] }
const resource: Fields = { attributes: [1, keyValue] }
const scope: Fields = { name: [1, 'string'], version: [2, 'string'] }
const event: Fields = { timeUnixNano: [1, 'fixed64'], name: [2, 'string'], attributes: [3, keyValue] }
const link: Fields = {
  traceId: [1, 'bytes'],
  spanId: [2, 'bytes'],
  traceState: [3, 'string'],
  attributes: [4, keyValue],
  flags: [6, 'fixed32'],
}
const status: Fields = { message: [2, 'string'], code: [3, 'varint'] }
const span: Fields = {
  traceId: [1, 'bytes'],
  spanId: [2, 'bytes'],
  traceState: [3, 'string'],
  parentSpanId: [4, 'bytes'],
  name: [5, 'string'],
  kind: [6, 'varint'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: [9, keyValue],
  droppedAttributesCount: [10, 'varint'],
  events: [11, event],
  droppedEventsCount: [12, 'varint'],
  links: [13, link],
  status: [15, status],
  flags: [16, 'fixed32'],
}
/** An `ExportTraceServiceRequest`. */
export const tracesRequest: Fields = {
  resourceSpans: [1, { resource: [1, resource], scopeSpans: [2, { scope: [1, scope], spans: [2, span] }] }],
}
const times = { startTimeUnixNano: [2, 'fixed64'], timeUnixNano: [3, 'fixed64'] } as const
const numberPoint: Fields = { ...times, asDouble: [4, 'double'], attributes: [7, keyValue] }
const histogramPoint: Fields = {
  ...times,
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  bucketCounts: [6, 'packed fixed64'],
  explicitBounds: [7, 'packed doubles'],
  attributes: [9, keyValue],
  min: [11, 'double'],
  max: [12, 'double'],
}
const metric: Fields = {
  name: [1, 'string'],
  description: [2, 'string'],
  unit: [3, 'string'],
  sum: [7, { dataPoints: [1, numberPoint], aggregationTemporality: [2, 'varint'], isMonotonic: [3, 'bool'] }],
  histogram: [9, { dataPoints: [1, histogramPoint], aggregationTemporality: [2, 'varint'] }],
}
/** An `ExportMetricsServiceRequest`. */
export const metricsRequest: Fields = {
  resourceMetrics: [1, { resource: [1, resource], scopeMetrics: [2, { scope: [1, scope], metrics: [2, metric] }] }],
}

/** A message in protobuf (https://protobuf.dev/programming-guides/encoding/). Fields that are undefined are not there. */
export function toProtobuf(message: OtlpMessage, fields: Fields): Buffer {
  const parts: Buffer[] = []
  for (const [name, [number, type]] of Object.entries(fields)) {
    const value = message[name]
    if (value === undefined) continue
    if (typeof type === 'string' && type.startsWith('packed')) parts.push(encoded(number, type, value))
    else for (const item of Array.isArray(value) ? value : [value]) parts.push(encoded(number, type, item))
  }
  return Buffer.concat(parts)
}

function encoded(number: number, type: Scalar | Fields | (() => Fields), value: unknown): Buffer {
  switch (type) {
    case 'bool':
      return Buffer.concat([varint(number << 3), varint(value === true ? 1 : 0)])
    case 'varint':
      return Buffer.concat([varint(number << 3), varint(value as number | string)])
    case 'fixed64':
      return Buffer.concat([varint((number << 3) | 1), eightBytes((bytes) => bytes.writeBigUInt64LE(BigInt(value as string)))])
    case 'double':
      return Buffer.concat([varint((number << 3) | 1), eightBytes((bytes) => bytes.writeDoubleLE(value as number))])
    case 'fixed32': {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(value as number)
      return Buffer.concat([varint((number << 3) | 5), bytes])
    }
  }
  const bytes = bytesOf(type, value)
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes])
}

function bytesOf(type: 'string' | 'bytes' | 'packed doubles' | 'packed fixed64' | Fields | (() => Fields), value: unknown): Buffer {
  if (type === 'string') return Buffer.from(value as string)
  if (type === 'bytes') return Buffer.from(value as string, 'hex')
  if (type === 'packed doubles') return Buffer.concat((value as number[]).map((one) => eightBytes((bytes) => bytes.writeDoubleLE(one))))
  if (type === 'packed fixed64')
    return Buffer.concat((value as string[]).map((one) => eightBytes((bytes) => bytes.writeBigUInt64LE(BigInt(one)))))
  return toProtobuf(value as OtlpMessage, typeof type === 'function' ? type() : type)
}

function eightBytes(write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(8)
  write(bytes)
  return bytes
}

function varint(value: number | string): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest === 0n ? low : low | 0x80)
  } while (rest !== 0n)
  return Buffer.from(bytes)
}
