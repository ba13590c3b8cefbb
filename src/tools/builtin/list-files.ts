import { lstat } from 'node:fs/promises'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { type AnyTool, defineTool, type ToolContext } from '../tool.ts'
import { countLines } from './files/text-file.ts'
import { Walk, type WalkEntry } from './files/walk.ts'
import { inWorkspace, isFileProblem, Workspace } from './files/workspace.ts'

type ListFilesArgs = {
  path?: string
  pattern?: string
  recursive?: boolean
  lines?: boolean
  sort?: 'name' | 'size' | 'lines' | 'modified'
  order?: 'asc' | 'desc'
  limit?: number
  folders?: boolean
}

/** A file or folder found by `list_files`. */
export interface ListedFile {
  /** The path relative to the workspace. */
  path: string
  /** The size in bytes; 0 for a folder. */
  bytes: number
  /** The number of lines, if requested. Set only for text files. */
  lines?: number
  /** The time of the last change, as ISO 8601 in UTC. */
  modified: string
}

/** The result of `list_files`. */
export interface FileList {
  /** The listed folder, relative to the workspace. */
  path: string
  /** The number of matches. `count`, `totalBytes` and `totalLines` include matches that are not in `files`. */
  count: number
  totalBytes: number
  /** The sum of all line counts. Set only if lines were counted. */
  totalLines?: number
  files: ListedFile[]
  /** Set if some files are not shown, or if the search stopped early. */
  truncated?: true
  /** Says which files may be missing from the list. */
  note?: string
}

/** Options of `list_files`. */
export interface ListFilesOptions {
  /** The folder that may be read. Default: the current folder. */
  workspace?: string
  /**
   * More files and folders in the workspace that the tool must not read. Git's own files, dot-env files and `.toolloop/runs` are always
   * refused. Default: none.
   */
  refused?: readonly string[]
  /** Maximum number of files and folders to visit. Default 200,000. */
  maxEntries?: number
}

const optionNames: OptionNames<ListFilesOptions> = { workspace: true, refused: true, maxEntries: true }

const parameters = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'Folder to list, relative to the workspace. Default: the whole workspace.' },
    pattern: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      description:
        'Glob, e.g. "*.ts" (by name, at any depth) or "src/**/*.json" (by path below `path`). Hidden files only if it names them.',
    },
    recursive: { type: 'boolean', description: 'Also list what is in subfolders. Default true.' },
    lines: { type: 'boolean', description: 'Count the lines of text files. Default false.' },
    sort: { type: 'string', enum: ['name', 'size', 'lines', 'modified'], description: 'Default "name".' },
    order: { type: 'string', enum: ['asc', 'desc'], description: 'Default "asc".' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'How many files to show; totals always cover all. Default 100.' },
    folders: { type: 'boolean', description: 'List folders instead of files. Default false.' },
  },
  additionalProperties: false,
} as const

/**
 * Creates the tool `list_files`: lists the files of a folder with size, time of the last change and number of lines. Leaves out files that
 * git ignores.
 */
export function listFilesTool(options: ListFilesOptions = {}): AnyTool {
  checkOptionNames(options, optionNames, '`listFilesTool`')
  const { workspace: folder, refused, maxEntries } = options
  const workspace = new Workspace(folder, refused)
  const tool = defineTool({
    name: 'list_files',
    description:
      'Lists the files of a folder with size and time of change, optionally with line counts; filters by a glob, sorts, and gives totals. ' +
      'Ignores what git ignores.',
    parameters,
    effect: 'read',
    execute: async (args: ListFilesArgs, { signal }: ToolContext): Promise<FileList> => {
      const { path = '.', pattern, recursive = true, folders = false, sort = 'name', order = 'asc', limit = 100 } = args
      const lines = (args.lines === true || sort === 'lines') && !folders
      const start = await workspace.locate(path)
      const kind = folders ? 'folders' : 'files'
      const walk = new Walk(workspace, start, { pattern, recursive, kind, maxEntries, signal })
      const list: FileList = { path: start.path, count: 0, totalBytes: 0, ...(lines ? { totalLines: 0 } : {}), files: [] }
      const shown = new FirstFew(limit, compareBy(sort, order))
      let unreadable = 0
      for await (const batch of walk) {
        signal.throwIfAborted()
        const described = await Promise.all(batch.map((entry) => describe(workspace, entry, { lines, folders, signal })))
        for (const file of described) {
          if (file === undefined) continue
          if (file === 'unreadable') {
            unreadable++
            continue
          }
          list.count++
          list.totalBytes += file.bytes
          if (list.totalLines !== undefined) list.totalLines += file.lines ?? 0
          shown.add(file)
        }
      }
      list.files = shown.take()
      if (list.files.length < list.count || walk.truncated) list.truncated = true
      const note = walk.gaps(unreadable)
      return note === '' ? list : { ...list, note }
    },
  })
  return inWorkspace(tool, workspace)
}

/** Describes a file. Undefined if the file was deleted after the walk saw it. */
async function describe(
  workspace: Workspace,
  entry: WalkEntry,
  { lines, folders, signal }: { lines: boolean; folders: boolean; signal: AbortSignal },
): Promise<ListedFile | 'unreadable' | undefined> {
  const stats = await lstat(entry.real).catch(() => undefined)
  if (stats === undefined || (folders ? !stats.isDirectory() : !stats.isFile())) return undefined
  const file: ListedFile = { path: entry.path, bytes: folders ? 0 : stats.size, modified: stats.mtime.toISOString() }
  if (!lines) return file
  try {
    const { handle } = await workspace.open(entry)
    try {
      const counted = await countLines(handle, signal)
      return counted === undefined ? file : { path: file.path, bytes: file.bytes, lines: counted, modified: file.modified }
    } finally {
      await handle.close()
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isFileProblem(error)) return 'unreadable'
    throw error
  }
}

type Compare = (a: ListedFile, b: ListedFile) => number

function compareBy(sort: NonNullable<ListFilesArgs['sort']>, order: 'asc' | 'desc'): Compare {
  const direction = order === 'asc' ? 1 : -1
  const byName: Compare = (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
  const by: Record<typeof sort, Compare> = {
    name: (a, b) => direction * byName(a, b),
    size: (a, b) => direction * (a.bytes - b.bytes),
    modified: (a, b) => direction * (a.modified < b.modified ? -1 : a.modified > b.modified ? 1 : 0),
    // Files without a line count come last, in ascending and in descending order.
    lines: (a, b) =>
      a.lines === undefined || b.lines === undefined
        ? Number(a.lines === undefined) - Number(b.lines === undefined)
        : direction * (a.lines - b.lines),
  }
  return (a, b) => by[sort](a, b) || byName(a, b)
}

/** Finds the files that come first in an order, without storing or sorting all files. */
class FirstFew {
  readonly #few: number
  readonly #compare: Compare
  #kept: ListedFile[] = []

  constructor(few: number, compare: Compare) {
    this.#few = few
    this.#compare = compare
  }

  add(file: ListedFile): void {
    this.#kept.push(file)
    if (this.#kept.length >= Math.max(2 * this.#few, 512)) this.#kept = this.take()
  }

  take(): ListedFile[] {
    return this.#kept.sort(this.#compare).slice(0, this.#few)
  }
}
