import { InvalidOptionError } from '../../core/errors.ts'
import { type ToolSet, ToolView } from '../../tools/registry.ts'
import { type AnyTool, defineTool, type RunScope, type ToolContext } from '../../tools/tool.ts'
import type { KeptResults } from '../journal/kept-values.ts'
import { goneResultText } from '../run-texts.ts'
import { readPart, searchText } from './read-text.ts'

/** The name of the tool that reads stored results. */
export const readResultName = 'read_result'

/**
 * A run that keeps its large results. `shownBytes`: the number of bytes that one read returns by default. `maxResultBytes`: the maximum
 * size of a result, including the words around the text.
 */
interface Keeping extends RunScope {
  readonly keptResults: KeptResults
  readonly limits: { readonly maxResultBytes: number; readonly largeResults: { shownBytes: number; overBytes: number } | undefined }
}

/** Runs whose model has the tool `read_result`. */
const keeping = new WeakMap<RunScope, Keeping>()
/**
 * The results of `withReadResult`, by its argument `tools`. A provider converts the tools only once, because the same tools give the same
 * result.
 */
const views = new WeakMap<ToolSet, ToolSet>()

/** The tool that reads parts of stored results. All runs share this object. */
export const readResult: AnyTool = defineTool({
  name: readResultName,
  description:
    'Reads parts of a long result that was shortened: a range of characters or lines, or the places where it has a text. Search before you read all of it.',
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'As it stands at the end of the shortened result.' },
      search: { type: 'string', minLength: 1, maxLength: 1_000, description: 'Text to look for, as it is, in upper or lower case.' },
      offset: { type: 'integer', minimum: 0, description: 'The character to begin at, from 0.' },
      line: { type: 'integer', minimum: 1, description: 'The line to begin at, from 1, in place of `offset`.' },
      length: { type: 'integer', minimum: 1, description: 'Most characters. Default: a few thousand.' },
      lines: { type: 'integer', minimum: 1, description: 'Most lines.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  effect: 'read',
  execute: async ({ id, search, ...range }, { run }: ToolContext) => {
    if (range.offset !== undefined && range.line !== undefined) throw new Error('Expected `offset` or `line`, got both.')
    const { keptResults, limits } = (run && keeping.get(run)) ?? {}
    const { shownBytes = 0, overBytes = 0 } = limits?.largeResults ?? {}
    const maxBytes = limits?.maxResultBytes ?? 0
    const text = await keptResults?.read(id)
    if (text === undefined) throw new Error(goneResultText(id))
    if (search !== undefined) return searchText(text, search, range, Math.min(overBytes, maxBytes))
    const isSized = range.length !== undefined || range.lines !== undefined
    return readPart(text, range, isSized ? overBytes : shownBytes, maxBytes)
  },
})

/**
 * Adds `read_result` to the tools of a run that keeps its large results. The tool is present from the start of the run, because a later
 * change of the tools would invalidate the provider's cache. Throws `invalid_option` if one of the tools has that name.
 */
export function withReadResult(tools: ToolSet, run: Keeping): ToolSet {
  keeping.set(run, run)
  const known = views.get(tools)
  if (known !== undefined) return known
  if (tools.get(readResultName) !== undefined)
    throw new InvalidOptionError('largeResults', `absent with a tool of yours that is named \`${readResultName}\``, true)
  const view = new ToolView(tools, { also: [readResult] })
  views.set(tools, view)
  return view
}
