import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, ToolDispatcher } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { loadSkills } from '../../src/tools/skills/index.ts'

// The files of a Skill: instructions, and a script declared as a tool with typed arguments.
const folder = await mkdtemp(join(tmpdir(), 'skills-'))
const files = {
  'SKILL.md': `---
name: circles
description: Areas of circles. Use when somebody asks how large something round is.
metadata:
  toolloop-tools: tools.yaml
---
Call circle_area with the radius, not with the diameter.`,
  'tools.yaml': `tools:
  - name: circle_area
    description: The area of a circle.
    script: scripts/area.ts
    effect: read
    parameters: { type: object, properties: { radius: { type: number } }, required: [radius] }`,
  'scripts/area.ts': 'export default ({ radius }: { radius: number }) => ({ area: Math.round(Math.PI * radius ** 2) })',
}
await mkdir(join(folder, 'circles/scripts'), { recursive: true })
for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'circles', name), text)

const skills = await loadSkills({ paths: [folder], project: false, user: false })
for (const { path, message } of skills.problems) console.log(path, message)

const tools = new ToolDispatcher([
  { kind: 'builtin', tools: builtinTools() },
  { kind: 'skill', tools: skills },
])
const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools, instructions: skills.catalogue() })
runner.on('TOOL_CALL_END', ({ tool, result }) => console.log(`${tool} (${tools.sourceOf(tool)}): ${result}`))
await runner.run('call circle_area with {"radius": 10}')

// A call without a model, and a call to a tool that does not exist.
console.log(await tools.dispatch('circle_area', { radius: 1 }), await tools.dispatch('square_area'))
await skills.close()
await rm(folder, { recursive: true })
