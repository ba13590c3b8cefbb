/** `toolloop/tools`: the built-in tools, which only read: files, arithmetic, the current time and web pages. */
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import type { AnyTool } from '../tool.ts'
import { calculateTool } from './calculate.ts'
import { currentTimeTool } from './current-time.ts'
import { type FetchUrlOptions, fetchUrlTool } from './fetch-url.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { searchFilesTool } from './search-files.ts'

export { type Calculation, calculateTool } from './calculate.ts'
export { type CurrentTime, type CurrentTimeOptions, currentTimeTool } from './current-time.ts'
export { type FetchedPage, type FetchUrlOptions, fetchUrlTool } from './fetch-url.ts'
export type { FileMatch } from './files/search-file.ts'
export { type FileList, type ListedFile, type ListFilesOptions, listFilesTool } from './list-files.ts'
export { type FileText, type ReadFileOptions, readFileTool } from './read-file.ts'
export { type SearchFilesOptions, type SearchResult, searchFilesTool } from './search-files.ts'

/** Options of the built-in tools. */
export interface BuiltinToolsOptions {
  /** The folder that the file tools may read. The tools can't read anything outside it. Default: the current folder. */
  workspace?: string
  /**
   * More files and folders in the workspace that the tools must not read. Git's own files, dot-env files and `.toolloop/runs` are always
   * refused. Default: none.
   */
  refused?: readonly string[]
  /** Options of `fetch_url`. */
  fetch?: FetchUrlOptions
  /**
   * Returns the current time. Default: the system's clock.
   *
   * Contract: the function is not awaited. If it throws, the call fails.
   */
  now?: () => Date
}

const optionNames: OptionNames<BuiltinToolsOptions> = { workspace: true, refused: true, fetch: true, now: true }

/**
 * Creates the built-in tools, all of which only read: `list_files`, `read_file`, `search_files`, `calculate`, `current_time`, `fetch_url`.
 * Throws `invalid_option` unless `workspace` is an existing folder.
 */
export function builtinTools(options: BuiltinToolsOptions = {}): AnyTool[] {
  checkOptionNames(options, optionNames, '`builtinTools`')
  const { workspace = process.cwd(), refused = [], fetch, now } = options
  return [
    listFilesTool({ workspace, refused }),
    readFileTool({ workspace, refused }),
    searchFilesTool({ workspace, refused }),
    calculateTool(),
    currentTimeTool(now === undefined ? {} : { now }),
    fetchUrlTool(fetch),
  ]
}
