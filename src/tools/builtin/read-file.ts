import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { show, ToolloopError } from '../../core/errors.ts'
import { type AnyTool, defineTool, type ToolContext } from '../tool.ts'
import { BinaryFileError, readLines } from './files/text-file.ts'
import { fileProblem, inWorkspace, Workspace } from './files/workspace.ts'

type ReadFileArgs = {
  path: string
  from?: number
  to?: number
  maxBytes?: number
}

/** The result of `read_file`. */
export interface FileText {
  /** The path relative to the workspace. */
  path: string
  /** The numbers of the first and last line in `text`, from 1. For an empty file, they are 1 and 0. */
  from: number
  to: number
  /** The number of lines in the whole file. */
  totalLines: number
  /** The size of the whole file. */
  bytes: number
  text: string
  /** Set if `text` was cut at `maxBytes`. */
  truncated?: true
}

/** Options of `read_file`. */
export interface ReadFileOptions {
  /** The folder that may be read. Default: the current folder. */
  workspace?: string
  /**
   * More files and folders in the workspace that the tool must not read. Git's own files, dot-env files and `.toolloop/runs` are always
   * refused. Default: none.
   */
  refused?: readonly string[]
}

const optionNames: OptionNames<ReadFileOptions> = { workspace: true, refused: true }

/**
 * The default maximum size of the text, in bytes. A result of this size fits in a run's default `maxResultBytes`, even if JSON escapes make
 * it a third longer.
 */
const defaultBytes = 49_152

const parameters = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, description: 'File to read, relative to the workspace.' },
    from: { type: 'integer', minimum: 1, description: 'First line to read, counted from 1. Default 1.' },
    to: { type: 'integer', minimum: 1, description: 'Last line to read, included. Default: the last one.' },
    maxBytes: { type: 'integer', minimum: 1, maximum: 1_048_576, description: 'Most bytes of text to return. Default 49152.' },
  },
  required: ['path'],
  additionalProperties: false,
} as const

/** Creates the tool `read_file`: reads a text file, or a range of its lines. Refuses binary files. */
export function readFileTool(options: ReadFileOptions = {}): AnyTool {
  checkOptionNames(options, optionNames, '`readFileTool`')
  const { workspace: folder, refused } = options
  const workspace = new Workspace(folder, refused)
  const tool = defineTool({
    name: 'read_file',
    description: 'Reads a text file, or the lines `from` to `to` of it. A long file is cut (`truncated`); continue with `from` = `to` + 1.',
    parameters,
    effect: 'read',
    execute: async ({ path, from = 1, to, maxBytes = defaultBytes }: ReadFileArgs, { signal }: ToolContext): Promise<FileText> => {
      signal.throwIfAborted()
      if (to !== undefined && to < from) {
        throw new ToolloopError('invalid_arguments', `Expected \`to\` to be at least \`from\` (${from}), got \`${to}\``)
      }
      const place = await workspace.locate(path)
      const { handle, stats } = await workspace.open(place)
      try {
        const read = await readLines(handle, { from, to: to ?? Number.POSITIVE_INFINITY, maxBytes, signal })
        if (from > Math.max(read.totalLines, 1)) {
          throw new ToolloopError(
            'invalid_arguments',
            `Expected \`from\` to be at most ${read.totalLines}, the number of lines of ${show(place.path)}, got \`${from}\``,
          )
        }
        const { text, totalLines, truncated } = read
        return { path: place.path, from, to: read.to, totalLines, bytes: stats.size, text, ...(truncated ? { truncated } : {}) }
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ToolloopError) throw error
        if (!(error instanceof BinaryFileError)) throw fileProblem(error, place.path)
        throw new ToolloopError('tool_failed', `Expected a text file, got ${show(place.path)}, a binary file of ${stats.size} bytes`)
      } finally {
        await handle.close()
      }
    },
  })
  return inWorkspace(tool, workspace)
}
