export function duration(ms: number) {
  if (ms < 1) return '<1 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const [minutes, hours] = [Math.floor(ms / 60_000), Math.floor(ms / 3_600_000)]
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours >= 1) return `${hours} h ${minutes % 60} min`
  return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
}

/** Describes roughly how long ago a time is. */
export function ago(iso: string) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(iso)) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

/** Formats a number in short form, such as `12.3K`. */
export function short(n: number) {
  return n < 10_000 ? n.toLocaleString() : compact.format(n)
}

export function money(usd: number) {
  return usd === 0 || usd >= 1 ? `$${usd.toFixed(2)}` : usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })

/** Formats a time as a time of day. Adds the date if it is not today. */
export function clock(iso: string) {
  const date = new Date(iso)
  return (date.toDateString() === new Date().toDateString() ? timeOfDay : dayAndTime).format(date)
}

const dayAndMinute = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

/** Formats a time in short form: the time of day if it is today, otherwise the date, hour and minute. */
export function shortClock(iso: string) {
  const date = new Date(iso)
  return (date.toDateString() === new Date().toDateString() ? timeOfDay : dayAndMinute).format(date)
}

export function moment(iso: string) {
  return dayAndTime.format(new Date(iso))
}

/** Returns a number with its noun, such as `2 calls`. */
export function count(n: number, one: string) {
  return `${n.toLocaleString()} ${one}${n === 1 ? '' : 's'}`
}

/** Formats JSON for reading. A value is on one line if it fits; otherwise each of its parts starts a new line. */
export function json(value: unknown) {
  return spread(value, '', 0)
}

const lineWidth = 78

/** Formats a value. `used` is the column at which it starts. */
function spread(value: unknown, indent: string, used: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  const parts = Object.entries(value).map(([key, item]) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `
    return name + spread(item, inner, inner.length + name.length)
  })
  const line = isList ? `[${parts.join(', ')}]` : parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  if (line.length + used <= lineWidth && !line.includes('\n')) return line
  const [open, close] = isList ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}

/** Returns the text of a message. Any other part of the message is shown as its type, such as `[image]`. */
export function messageText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { type?: string; text?: string } | null) => part?.text ?? `[${part?.type}]`).join('\n')
}

const endings: Readonly<Record<string, string>> = {
  answered: 'answered',
  truncated: 'answer cut off',
  max_iterations: 'reached the iteration limit',
  budget: 'used up its budget',
  deadline: 'ran out of time',
  aborted: 'cancelled',
  paused: 'waiting',
  stopped: 'stopped',
  repeated_calls: 'repeated itself',
  refused: 'refused',
  model_error: 'model error',
}

export function ending(stopReason: string | undefined) {
  return stopReason === undefined ? 'ended' : (endings[stopReason] ?? stopReason)
}
