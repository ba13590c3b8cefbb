import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { type AnyTool, defineTool, type ToolContext } from '../tool.ts'
import { createLineFinder } from './files/line-finder.ts'
import { type FileMatch, type FileSearch, searchFile } from './files/search-file.ts'
import { Walk, type WalkEntry } from './files/walk.ts'
import { inWorkspace, isFileProblem, Workspace } from './files/workspace.ts'

type SearchFilesArgs = {
  query: string
  regex?: boolean
  path?: string
  pattern?: string
  ignoreCase?: boolean
  context?: number
  limit?: number
}

/** The result of `search_files`. */
export interface SearchResult {
  query: string
  /** The number of matching lines, including lines that are not in `matches`. */
  count: number
  /** The number of files with at least one matching line. */
  files: number
  matches: FileMatch[]
  /** Set if some matches are not shown, or if the search stopped early. */
  truncated?: true
  /** Says which matches the search may have missed. */
  note?: string
}

/** Options of `search_files`. */
export interface SearchFilesOptions {
  /** The folder that may be read. Default: the current folder. */
  workspace?: string
  /**
   * More files and folders in the workspace that the tool must not read. Git's own files, dot-env files and `.toolloop/runs` are always
   * refused. Default: none.
   */
  refused?: readonly string[]
  /** Maximum number of files and folders to visit. Default 200,000. */
  maxEntries?: number
  /** Time limit of a regular expression for one piece of a file (at most 256 KiB), in milliseconds. Default 5,000. */
  regexTimeoutMs?: number
}

const optionNames: OptionNames<SearchFilesOptions> = { workspace: true, refused: true, maxEntries: true, regexTimeoutMs: true }

/** Number of files that are searched in parallel. */
const filesAtOnce = 8

const parameters = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 1000, description: 'Text to find, or a regular expression if `regex` is true.' },
    regex: { type: 'boolean', description: 'Take `query` as a JavaScript regular expression, matched line by line. Default false.' },
    path: { type: 'string', description: 'Folder or file to search, relative to the workspace. Default: the whole workspace.' },
    pattern: { type: 'string', minLength: 1, maxLength: 256, description: 'Search only files that match this glob, e.g. "*.ts".' },
    ignoreCase: { type: 'boolean', description: 'Take upper and lower case as the same. Default false.' },
    context: { type: 'integer', minimum: 0, maximum: 20, description: 'Lines to show before and after each match. Default 0.' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'How many matches to show; counts cover all. Default 50.' },
  },
  required: ['query'],
  additionalProperties: false,
} as const

/**
 * Creates the tool `search_files`: finds lines of text files that contain a text or match a regular expression. Leaves out files that git
 * ignores.
 */
export function searchFilesTool(options: SearchFilesOptions = {}): AnyTool {
  checkOptionNames(options, optionNames, '`searchFilesTool`')
  const { workspace: folder, refused, maxEntries, regexTimeoutMs = 5_000 } = options
  const workspace = new Workspace(folder, refused)
  const tool = defineTool({
    name: 'search_files',
    description:
      'Finds lines that contain a text or match a regular expression, in all text files or those a glob names. ' +
      'Ignores what git ignores, and binary files.',
    parameters,
    effect: 'read',
    execute: async (args: SearchFilesArgs, { signal }: ToolContext): Promise<SearchResult> => {
      const { query, regex = false, path = '.', pattern, ignoreCase = false, context = 0, limit = 50 } = args
      const start = await workspace.locate(path)
      const result: SearchResult = { query, count: 0, files: 0, matches: [] }
      let unreadable = 0
      const walk = new Walk(workspace, start, { pattern, maxEntries, signal })
      const finder = createLineFinder({ query, regex, ignoreCase, regexTimeoutMs, thread: walk.thread })
      for await (const batch of walk) {
        for (let at = 0; at < batch.length; at += filesAtOnce) {
          const search = { finder, context, most: limit - result.matches.length, signal }
          unreadable += await searchSome(workspace, batch.slice(at, at + filesAtOnce), search, result)
        }
      }
      if (result.matches.length < result.count || walk.truncated) result.truncated = true
      const note = walk.gaps(unreadable)
      return note === '' ? result : { ...result, note }
    },
  })
  return inWorkspace(tool, workspace)
}

/**
 * Adds the matches of the files to the result, in order. Returns the number of files that could not be read. Rejects for any other failure.
 */
async function searchSome(workspace: Workspace, entries: WalkEntry[], search: FileSearch, result: SearchResult): Promise<number> {
  // Waits for all files, so that no file stays open if searching another file fails.
  const searched = await Promise.allSettled(entries.map((entry) => searchFile(workspace, entry, search)))
  let room = search.most
  let unreadable = 0
  for (const file of searched) {
    if (file.status === 'rejected') {
      search.signal.throwIfAborted()
      if (!isFileProblem(file.reason)) throw file.reason
      unreadable++
      continue
    }
    const { count, matches } = file.value
    result.count += count
    if (count > 0) result.files++
    result.matches.push(...matches.slice(0, room))
    room = Math.max(0, room - matches.length)
  }
  return unreadable
}
