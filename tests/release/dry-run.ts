import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { entries } from '../pins/public-types.ts'
import { exercise, typecheck } from './exercise.ts'
import { kindsOf } from './package-files.ts'
import { installPacked } from './packed-project.ts'

// `npm run release:dry` does everything of a release but publish: packs, compares the files of the package with files.txt, installs it in an
// empty project of a folder that only its owner can enter, runs the README and the command line there, and compiles against its types with
// the oldest version of TypeScript that docs/compatibility.md promises, and the newest.

const oldest = 'typescript-oldest'
using project = installPacked([`${oldest}@npm:typescript@5.7`, 'typescript', '@types/node@22'])
const kinds = kindsOf(project.files)
const pinned = readFileSync(new URL('files.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
const differing = [
  ...kinds.filter((kind) => !pinned.includes(kind)).map((kind) => `+ ${kind}`),
  ...pinned.filter((kind) => !kinds.includes(kind)).map((kind) => `- ${kind}`),
]
if (differing.length > 0) {
  throw new Error(`The package has other files than tests/release/files.txt lists. If that is meant, edit it.\n${differing.join('\n')}`)
}
console.log(`${project.files.length} files, of ${kinds.length} kinds, as listed`)

const bin = join(project.folder, 'node_modules/.bin/toolloop')
const env = { PATH: process.env.PATH, HOME: project.folder }
await exercise({ folder: project.folder, node: [process.execPath], toolloop: [process.execPath, bin], env })
console.log('the README and the command line work in an empty project')
for (const typescript of [oldest, 'typescript']) await typecheck(project.folder, typescript, [...entries.keys()])
console.log('its types fit the oldest and the newest TypeScript')
