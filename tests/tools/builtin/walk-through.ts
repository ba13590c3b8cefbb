import { Walk, type WalkOptions } from '../../../src/tools/builtin/files/walk.ts'
import { Workspace } from '../../../src/tools/builtin/files/workspace.ts'

/** The paths that a walk through the folder finds, in order. */
export async function walkThrough(
  folder: string,
  { path = '.', ...options }: Partial<WalkOptions> & { path?: string } = {},
): Promise<string[]> {
  const workspace = new Workspace(folder)
  const paths: string[] = []
  const walk = new Walk(workspace, await workspace.locate(path), { signal: new AbortController().signal, ...options })
  for await (const batch of walk) paths.push(...batch.map((entry) => entry.path))
  return paths
}
