import { Fragment } from 'preact'
import { LongText } from '../reading/long-text.tsx'
import type { Skill } from '../types.ts'
import { Openable } from './openable.tsx'

export interface SkillProblem {
  path: string
  severity: 'error' | 'warning'
  message: string
}

const sources: Record<Skill['source'], string> = {
  configured: 'from the configuration',
  project: 'from the project',
  user: 'from the home folder',
}

export function SkillCard({ skill: { name, description, source, folder, allowedTools, tools, scripts, instructions } }: { skill: Skill }) {
  return (
    <Openable name={name} about={description} marks={<span class="badge off">{sources[source] ?? source}</span>}>
      <dl class="facts">
        <Fact label="Folder" names={[folder]} />
        <Fact label="Allowed tools" names={allowedTools} />
        <Fact label="Its own tools" names={tools} />
        <Fact label="Scripts" names={scripts} />
      </dl>
      <div class="raw">
        <p class="muted">What the model reads when it activates the skill:</p>
        <LongText text={instructions} label={`Instructions of ${name}`} />
      </div>
    </Openable>
  )
}

function Fact({ label, names }: { label: string; names: string[] }) {
  if (names.length === 0) return null
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {names.map((name, at) => (
          <Fragment key={name}>
            {at > 0 && ', '}
            <code>{name}</code>
          </Fragment>
        ))}
      </dd>
    </div>
  )
}

/** Lists the folders of Skills that have problems. */
export function SkillProblems({ problems }: { problems: SkillProblem[] }) {
  if (problems.length === 0) return null
  return (
    <ul class="problems skill-problems">
      {problems.map(({ path, severity, message }) => (
        <li key={`${path} ${message}`}>
          <span class={severity === 'error' ? 'error-text' : 'muted'}>{severity === 'error' ? 'Skipped: ' : 'Note: '}</span>
          <code>{path}</code>
          {` ${message}`}
        </li>
      ))}
    </ul>
  )
}
