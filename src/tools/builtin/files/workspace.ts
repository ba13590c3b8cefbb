import { constants, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { InvalidOptionError, show, ToolloopError } from '../../../core/errors.ts'
import type { AnyTool } from '../../tool.ts'
import { leadsOutside } from './links.ts'
import { isWithin, PrivateFiles, realOrPlanned } from './private-files.ts'

/** A file or folder that was found inside the workspace. */
export interface Place {
  /** The path relative to the workspace, with `/`. `.` is the workspace itself. Links are resolved. */
  path: string
  /** The absolute path for the file system. It is never shown to a model. */
  real: string
  isFolder: boolean
}

/**
 * The folder that tools may read. Paths from a model are resolved relative to this folder. A path that leads outside is refused, whether it
 * is absolute, contains `..`, or passes through a symbolic link. Mounts are followed. Private files in the folder are always refused, even
 * through a link.
 *
 * Errors are worded for a model: they name paths as the model wrote them, or relative to the workspace.
 */
export class Workspace {
  readonly #root: string
  /** The root as the caller spelled it. Needed to recognize absolute paths in that spelling. */
  readonly #given: string
  readonly #private: PrivateFiles

  /** `refused`: more private files and folders. Throws `invalid_option` unless `folder` is an existing folder. */
  constructor(folder: string = process.cwd(), refused: readonly string[] = []) {
    this.#given = resolve(folder)
    try {
      this.#root = realpathSync(this.#given)
    } catch {
      throw new InvalidOptionError('workspace', 'a folder that exists', folder)
    }
    if (!statSync(this.#root).isDirectory()) throw new InvalidOptionError('workspace', 'a folder', folder)
    this.#private = new PrivateFiles(this.#root, refused)
  }

  /** The workspace's folder, with all links resolved. */
  get root(): string {
    return this.#root
  }

  /**
   * Finds the file or folder that `path` names. Throws `tool_denied` for a path outside the workspace, and `tool_failed` for a path that
   * does not exist.
   */
  async locate(path: string): Promise<Place> {
    const real = await this.#resolve(path)
    const stats = await lstat(real).catch((error: unknown) => {
      throw fileProblem(error, path)
    })
    refuseSpecial(stats, path)
    return { path: this.pathOf(real), real, isFolder: stats.isDirectory() }
  }

  /** Converts a real absolute path to a path relative to the workspace. */
  pathOf(real: string): string {
    const path = relative(this.#root, real)
    return path === '' ? '.' : path.split(sep).join('/')
  }

  /**
   * Opens a file for reading. The caller must close it. Refuses the file if the file, or a folder above it, was replaced by a link after
   * the path was resolved.
   */
  async open(place: Pick<Place, 'real' | 'path'>): Promise<{ handle: FileHandle; stats: Stats }> {
    let handle: FileHandle
    try {
      // O_NONBLOCK prevents a pipe without a writer from blocking the call. Windows has neither O_NOFOLLOW nor O_NONBLOCK.
      handle = await open(place.real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    } catch (error) {
      throw fileProblem(error, place.path)
    }
    try {
      const stats = await handle.stat()
      refuseSpecial(stats, place.path)
      if (stats.isDirectory()) throw new ToolloopError('tool_failed', `Expected a file, got the folder ${show(place.path)}`)
      const opened = await openedPath(handle, place.real)
      if (!this.#contains(opened)) throw outside(place.path)
      if (this.#private.includes(opened) || (await this.#private.isLinkTo(stats))) throw isPrivate(place.path)
      return { handle, stats }
    } catch (error) {
      await handle.close()
      throw error instanceof ToolloopError ? error : fileProblem(error, place.path)
    }
  }

  /** Whether `real`, a folder that was found earlier, is still the same folder and not a link to another. */
  async isUnmoved(real: string): Promise<boolean> {
    return (await realpath(real)) === real
  }

  /**
   * Whether tools could read a file or folder, because it is in the workspace and not private. Also true for a folder that contains the
   * workspace. The path need not exist yet.
   */
  exposes(absolute: string): boolean {
    const real = realOrPlanned(absolute)
    return isWithin(real, this.#root) || (isWithin(this.#root, real) && !this.#private.includes(real))
  }

  refuses(real: string): boolean {
    return this.#private.includes(real)
  }

  async #resolve(path: string): Promise<string> {
    if (path.includes('\0')) throw new ToolloopError('invalid_arguments', `Expected \`path\` without NUL characters, got ${show(path)}`)
    if (path.includes('\\')) {
      throw new ToolloopError('invalid_arguments', `Expected \`path\` with \`/\` between folders, got ${show(path)}`)
    }
    const asGiven = isAbsolute(path) && isWithin(this.#given, path)
    const absolute = resolve(this.#root, asGiven ? relative(this.#given, path) : path)
    // The path is checked before the disk is read, so that the error reveals nothing about files outside.
    if (!this.#contains(absolute)) throw outside(path)
    if (this.#private.includes(absolute)) throw isPrivate(path)
    let real: string
    try {
      real = await realpath(absolute)
    } catch (error) {
      // Links are checked here, because otherwise the error would reveal which files exist outside.
      throw leadsOutside(this.#root, absolute) ? outside(path) : fileProblem(error, path)
    }
    if (!this.#contains(real)) throw outside(path)
    if (this.#private.includes(real)) throw isPrivate(path)
    return real
  }

  #contains(absolute: string): boolean {
    return isWithin(this.#root, absolute)
  }
}

/** The property of a file tool that contains its workspace. It is enumerable, so that `{ ...tool }` copies it. */
const workspaceKey: unique symbol = Symbol('workspace')
type FileTool = AnyTool & { [workspaceKey]?: Workspace }

/** Returns the workspace that a file tool, or a copy of one, reads. Undefined for any other tool. */
export function workspaceOf(tool: FileTool): Workspace | undefined {
  return tool[workspaceKey]
}

export function inWorkspace(tool: AnyTool, workspace: Workspace): FileTool {
  return { ...tool, [workspaceKey]: workspace }
}

/** Returns the real path of an open file. Asks the kernel if possible; otherwise resolves the path again. */
async function openedPath(handle: FileHandle, real: string): Promise<string> {
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`)
  } catch {
    return realpath(real)
  }
}

function outside(path: string): ToolloopError {
  return new ToolloopError('tool_denied', `Expected a path inside the workspace, got ${show(path)}, which is outside it`)
}

function isPrivate(path: string): ToolloopError {
  return new ToolloopError('tool_denied', `Expected a file that tools may read, got ${show(path)}, which may hold secrets`)
}

function refuseSpecial(stats: Stats, path: string): void {
  if (stats.isFile() || stats.isDirectory()) return
  const kind = stats.isFIFO()
    ? 'a pipe'
    : stats.isSocket()
      ? 'a socket'
      : stats.isSymbolicLink()
        ? 'a link that has just changed'
        : 'a device'
  throw new ToolloopError('tool_denied', `Expected a regular file or a folder, got ${show(path)}, which is ${kind}`)
}

/** Describes a problem with a path for the model. The system's own messages are not used, because they contain absolute paths. */
export function fileProblem(error: unknown, path: string): ToolloopError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  const problem = problems[code] ?? `could not be read (${code})`
  return new ToolloopError('tool_failed', `${show(path)} ${problem}`, { cause: error })
}

/** Whether an error of `Workspace` or of the file system concerns a single file, not the code or the call. */
export function isFileProblem(error: unknown): boolean {
  if (ToolloopError.isInstance(error)) return error.code === 'tool_failed' || error.code === 'tool_denied'
  return error instanceof Error && 'syscall' in error
}

/** Whether the cause of an error is a file system error with this code, such as `ENOENT`. */
export function isFileProblemCode(error: unknown, code: string): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === code
}

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist in the workspace; `list_files` shows what does',
  ENOTDIR: 'leads through a file as if it were a folder',
  EACCES: 'may not be read: permission denied',
  EPERM: 'may not be read: permission denied',
  ELOOP: 'is a link that leads back to itself or was put in place of a file',
  ENAMETOOLONG: 'is longer than a path can be',
  ENXIO: 'is a pipe or a device, not a regular file',
  EISDIR: 'is a folder, not a file',
}
