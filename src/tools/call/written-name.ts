/**
 * Matches the recipient that gpt-oss writes into a message header, such as `to=functions.get_weather`:
 * https://cookbook.openai.com/articles/openai-harmony
 */
const recipient = /(?:^|[\s>])to=([^\s<]+)/
/** Matches the start of a control token, such as `<|channel|>` or `<｜tool▁sep｜>`. */
const controlToken = /<[|｜]/
/** Matches a header word that remains at the end of a name if the control tokens around it are lost. */
const headerWords = /(?<!\s)\s+(?:analysis|commentary|final|json|code)$/
/** Matches the texts that models add before and after a tool's name: `functions.get_weather:0`, `get_weather.call`. */
const prefix = /^(?:functions?|tools?|default_api|assistant)[.:/]/i
const suffix = /(?::\d+|\.call)$/

/** Removes the markup that a model's own format adds after a name: `get_weather<|channel|>commentary` becomes `get_weather`. */
export function withoutMarkup(written: string): string {
  const to = recipient.exec(written)?.[1]
  if (to !== undefined) return to
  const at = written.search(controlToken)
  return at > 0 ? written.slice(0, at).trim() : written.replace(headerWords, '')
}

export function withoutDecoration(written: string): string {
  return withoutMarkup(written).trim().replaceAll('\\', '').replace(prefix, '').replace(suffix, '').trim()
}

/** Returns a key for a name. Names that differ only in case and in the separators between words have the same key. */
function keyOf(name: string): string {
  return name.toLowerCase().replace(/[-.:/\s]/g, '_')
}

/** Finds a tool by the name that a model writes for it. */
export class ToolNames {
  readonly #names: ReadonlySet<string>
  readonly #byKey: Map<string, string | undefined> = new Map()

  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
    for (const name of this.#names) {
      const key = keyOf(name)
      this.#byKey.set(key, this.#byKey.has(key) ? undefined : name)
    }
  }

  /** Returns the tool with this name, or the only tool with a similar name. Undefined if several tools are equally similar. */
  meantBy(written: string): string | undefined {
    if (this.#names.has(written)) return written
    const bare = withoutDecoration(written)
    return this.#names.has(bare) ? bare : this.#byKey.get(keyOf(bare))
  }
}
