import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { count } from '../data/format.ts'
import { useTitle } from '../shell/address.ts'
import type { McpServer, Skill, ToolWithCalls } from '../types.ts'
import { Loading } from '../ui/loaded.tsx'
import { useNewId } from '../ui/new-id.ts'
import { useInSlices } from '../ui/slices.ts'
import { ServerList } from './server-list.tsx'
import { SkillCard, type SkillProblem, SkillProblems } from './skills.tsx'
import { ToolCard } from './tool-card.tsx'
import { useAnswer, useWhenCallsEnd } from './use-answer.ts'

/**
 * Shows the tools and Skills of the agent: their sources, parameters, texts and past calls, and forms to try them. `param` is the name of
 * the tool to open.
 */
export function ToolsView({ param }: { param: string | undefined }) {
  useTitle('Tools and skills')
  const filterId = useNewId()
  const [filter, setFilter] = useState('')
  const [wanted, setWanted] = useState<string>()
  useEffect(() => setWanted(param), [param])
  // Resets the wanted tool after it was shown once. Otherwise, its card would take the focus whenever it appears again, for example after
  // the filter has changed.
  const onShown = useCallback(() => setWanted(undefined), [])
  const tools = useAnswer<{ data: ToolWithCalls[]; servers: McpServer[] }>('admin/api/tools')
  const skills = useAnswer<{ data: Skill[]; problems: SkillProblem[] }>('admin/api/skills')
  useWhenCallsEnd(tools.load)
  const allTools = tools.answer?.data ?? []
  const allSkills = skills.answer?.data ?? []
  const fits = ({ name, description }: { name: string; description: string }) =>
    `${name} ${description}`.toLowerCase().includes(filter.trim().toLowerCase())
  const shownTools = allTools.filter((tool) => fits(tool.function))
  const drawnTools = useInSlices(shownTools)
  const shownSkills = allSkills.filter(fits)
  const problems = skills.answer?.problems ?? []
  return (
    <div class="column">
      <div class="view-head">
        <h1 tabIndex={-1}>Tools and skills</h1>
        <p class="muted">{tools.answer && `${count(allTools.length, 'tool')} · ${count(allSkills.length, 'skill')}`}</p>
      </div>
      <div class="field">
        <label for={filterId}>Filter</label>
        <input
          id={filterId}
          type="search"
          placeholder="Name or description"
          autocomplete="off"
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      </div>
      {(tools.answer === undefined || tools.failure !== '') && <Loading failure={tools.failure} retry={tools.load} />}
      {tools.answer?.data.length === 0 && <NoTools />}
      <div class="stack">
        <ServerList servers={tools.answer?.servers ?? []} />
        <Section title="Tools" summary={shownOf(shownTools.length, allTools.length, 'tool')}>
          {drawnTools.map((tool) => (
            <ToolCard
              key={tool.function.name}
              tool={tool}
              isWanted={tool.function.name === wanted}
              onShown={onShown}
              onTried={tools.load}
            />
          ))}
        </Section>
        {(allSkills.length > 0 || problems.length > 0 || skills.failure !== '') && (
          <Section title="Skills" summary={shownOf(shownSkills.length, allSkills.length, 'skill')}>
            {shownSkills.map((skill) => (
              <SkillCard key={skill.name} skill={skill} />
            ))}
          </Section>
        )}
        <SkillProblems problems={problems} />
        {skills.failure !== '' && <Loading failure={skills.failure} retry={skills.load} />}
      </div>
    </div>
  )
}

function shownOf(shown: number, all: number, one: string): string {
  return shown === all ? '' : `${shown} of ${count(all, one)}`
}

function Section({ title, summary, children }: { title: string; summary: string; children: ComponentChildren }) {
  return (
    <section>
      <div class="section-head">
        <h2>{title}</h2>
        <p class="muted" role="status">
          {summary}
        </p>
      </div>
      <div class="tool-list">{children}</div>
    </section>
  )
}

function NoTools() {
  return (
    <div class="empty">
      <p>The agent has no tools yet. Name built-in ones in toolloop.yaml, or give your own:</p>
      <pre class="code">{'tools:\n  builtin: [calculate, current_time]'}</pre>
      <pre class="code">toolloop serve --tools ./tools.ts</pre>
    </div>
  )
}
