import { type Dialect, dialectNames, findDialect, generateToolPrompt } from '../dialects/index.ts'
import { InvalidOptionError } from '../errors.ts'
import type { ChatModel, ModelCapabilities, ModelRequest, ModelResponse, ModelSink, ToolChoice } from '../models/model.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import type { RunSettings } from './run.ts'
import { TextHistory } from './text-history.ts'
import { type ReadResponse, TextReading } from './text-reading.ts'

/** How a run's calls reach its model and come back: natively, listening for written ones beside them or not; or as text alone. */
export type CallForm = { native: true; listenFor?: Dialect } | { native: false; dialect: Dialect }

/** One request, as the model takes it, and how the response to it is read. */
export interface TextExchange {
  readonly request: ModelRequest
  readonly sink: ModelSink | undefined
  finish(response: ModelResponse): ReadResponse
  /** What counts as said of a response that broke off after `text`. */
  partOf(text: string): string
}

type CallSettings = Pick<RunSettings<never>, 'toolCalling' | 'enableToolActionParsing' | 'fencedTags'>

const toolAction = findDialect('tool-action')
const salvage = findDialect('salvage')
/** Both at once, for models that are listened to for either reason. */
const anyMarked: Dialect = {
  ...salvage,
  envelopes: [...toolAction.envelopes, ...salvage.envelopes],
  resultMarkers: [...toolAction.resultMarkers, ...salvage.resultMarkers],
}

/** The form of calls that settings and model agree on. Throws `invalid_option`. */
export function chooseCallForm(settings: CallSettings, { capabilities, provider, model }: ChatModel): CallForm {
  const { toolCalling = 'auto', enableToolActionParsing = true } = settings
  const { nativeTools, dialect } = capabilities
  if (toolCalling === 'native' && !nativeTools) {
    throw new InvalidOptionError(
      'toolCalling',
      `'auto', 'tags', 'json' or another dialect for \`${provider}/${model}\`, which takes no native calls`,
      toolCalling,
    )
  }
  if (toolCalling === 'native') return { native: true }
  if (toolCalling !== 'auto') return { native: false, dialect: namedDialect('toolCalling', toolCalling) }
  if (!nativeTools) return { native: false, dialect: namedDialect('model.dialect', dialect ?? 'tags') }
  const listenFor = listenedFor(enableToolActionParsing, capabilities)
  return listenFor === undefined ? { native: true } : { native: true, listenFor }
}

function listenedFor(tags: boolean, { salvageTextCalls = false }: ModelCapabilities): Dialect | undefined {
  if (salvageTextCalls) return tags ? anyMarked : salvage
  return tags ? toolAction : undefined
}

function namedDialect(option: string, dialect: Dialect | string): Dialect {
  if (dialect === 'tags') return toolAction
  try {
    const found = findDialect(dialect)
    if (typeof found === 'object' && found !== null && Array.isArray(found.envelopes)) return found
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error
  }
  throw new InvalidOptionError(option, `'auto', 'native', 'tags', a Dialect or one of ${dialectNames.join(', ')}`, dialect)
}

interface TextCallOptions extends Pick<CallSettings, 'fencedTags'> {
  /** What becomes of what was meant as a call and can't be read. Default `'call'`: one that is refused, so that the model is told. */
  unreadable?: 'call' | 'text'
}

/** Lets a dialect speak in the loop, which sees ordinary calls. One for a run, or for an agent: it remembers what it has written. */
export class TextCalls {
  readonly #form: CallForm
  readonly #options: Required<TextCallOptions>
  readonly #history: TextHistory | undefined
  #prompt: { tools: readonly ToolDefinition[]; text: string } | undefined

  constructor(form: CallForm, { fencedTags = 'text', unreadable = 'call' }: TextCallOptions) {
    this.#form = form
    this.#options = { fencedTags, unreadable }
    this.#history = form.native ? undefined : new TextHistory(form.dialect)
  }

  /** Undefined for a request that goes out as it is, and whose response is not read. */
  open(request: ModelRequest, live: ModelSink | undefined): TextExchange | undefined {
    const { tools = [] } = request
    const form = this.#form
    const dialect = form.native ? form.listenFor : form.dialect
    if (dialect === undefined || (form.native && tools.length === 0)) return undefined
    const written = form.native ? request : this.#write(request, tools, dialect)
    if (tools.length === 0) return { request: written, sink: live, finish: (response) => response, partOf: (text) => text }
    const reading = new TextReading({ ...this.#options, dialect, tools, besideNative: form.native }, live)
    return {
      request: written,
      sink: reading.sink,
      finish: (response) => reading.finish(response),
      partOf: (text) => reading.partOf(text),
    }
  }

  /** The request in text alone: no tools, but a prompt that tells of them; no calls and results, but what they are in the dialect. */
  #write(request: ModelRequest, tools: readonly ToolDefinition[], dialect: Dialect): ModelRequest {
    const { tools: _tools, toolChoice = 'auto', parallelToolCalls, messages, ...rest } = request
    const parts = tools.length === 0 ? [] : this.#promptFor(tools, dialect, toolChoice, parallelToolCalls)
    return { ...rest, messages: this.#history?.write(messages, parts.join('\n\n')) ?? messages }
  }

  #promptFor(tools: readonly ToolDefinition[], dialect: Dialect, choice: ToolChoice, parallel: boolean | undefined): string[] {
    if (choice === 'none') return ['Call no tool now: answer with what you know.']
    if (this.#prompt?.tools !== tools) this.#prompt = { tools, text: generateToolPrompt(tools, dialect) }
    const parts = [this.#prompt.text]
    if (choice === 'required') parts.push('You must call a tool now: do not answer without a call.')
    else if (choice !== 'auto') parts.push(`You must call the tool \`${choice.function.name}\` now: do not answer without that call.`)
    if (parallel === false) parts.push('Write at most one call in an answer.')
    return parts
  }
}
