import { tempFolder } from '../../cli/temp-folder.ts'

/** A Skill as others publish them: instructions, a guide and scripts with their own command lines. */
export const csvTools: Record<string, string> = {
  'csv-tools/SKILL.md': `---
name: csv-tools
description: Counts and sums columns of CSV files. Use when the user has tables or asks for totals.
license: Apache-2.0
compatibility: Requires Python 3
metadata:
  author: example
  version: "1.2"
allowed-tools: Bash(python3:*) Read
---

# Tables

Read [the guide](references/GUIDE.md) first. Then run:

    python3 scripts/total.py --column price FILE
`,
  'csv-tools/references/GUIDE.md': 'Columns are named in the first line.\n',
  'csv-tools/assets/sample.csv': 'item,price\npen,2\nink,5\n',
  'csv-tools/scripts/total.py': `import argparse, csv, json, os
parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--column", required=True)
parser.add_argument("--pretty", action="store_true")
args = parser.parse_args()
with open(args.file) as table:
    rows = list(csv.DictReader(table))
if rows and args.column not in rows[0]:
    raise SystemExit(f"no column {args.column}; there are {', '.join(rows[0])}")
print(json.dumps({"total": sum(float(row[args.column]) for row in rows), "pretty": args.pretty}))
`,
  'csv-tools/scripts/shout.sh': '#!/bin/bash\nread -r line\necho "$* $line!"\n',
  'csv-tools/scripts/node-info.js':
    "import { basename } from 'node:path'\nconsole.log(basename(process.argv[1]), ...process.argv.slice(2))\n",
}

/** A Skill whose scripts are modules, declared as tools. */
export const geometry: Record<string, string> = {
  'geometry/SKILL.md': `---
name: geometry
description: Areas and lengths.
metadata:
  toolloop-tools: tools.yaml
---
Call circle_area.
`,
  'geometry/tools.yaml': `tools:
  - name: circle_area
    description: The area of a circle.
    script: scripts/area.ts
    effect: read
    parameters: { type: object, properties: { radius: { type: number, exclusiveMinimum: 0 } }, required: [radius], additionalProperties: false }
  - description: The length of a list of points.
    script: scripts/length.mjs
    parameters: { type: object, properties: { points: { type: array, items: { type: array, items: { type: number } } } }, required: [points] }
`,
  'geometry/scripts/area.ts': `import { round } from './round.ts'
export default ({ radius }: { radius: number }): { area: number } => ({ area: round(Math.PI * radius ** 2) })
`,
  'geometry/scripts/round.ts': 'export const round = (x: number): number => Math.round(x * 100) / 100\n',
  'geometry/scripts/length.mjs': `export default ({ points }) => points.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - points[i][0], y - points[i][1]), 0)\n`,
}

/** A new folder with Skills, removed when the test is over. */
export function skillFolders(...skills: Record<string, string>[]): Promise<string> {
  return tempFolder(Object.assign({}, ...skills))
}
