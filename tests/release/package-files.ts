/**
 * The files of the package as lines of a list. Files of a folder that have the same ending are one line, so that a new source changes
 * nothing; a new folder, or a new kind of file, does.
 */
export function kindsOf(files: readonly string[]): string[] {
  return [...new Set(files.map(kindOf))].toSorted()
}

function kindOf(path: string): string {
  const [, folder, ending] = /^((?:dist|src)\/(?:[\w-]+\/)?|docs\/(?:[\w-]+\/)?).*?((?:\.d)?\.\w+(?:\.map)?)$/.exec(path) ?? []
  return folder === undefined ? path : `${folder}**${ending}`
}
