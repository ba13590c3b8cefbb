import { ask, messageOf } from '../data/api.js'
import { ago, count, duration } from '../data/format.js'
import { longText } from '../reading/by-hand.tsx'
import { h, newId, renderList, replace, setText } from '../ui/dom.js'
import { tryTool } from './try-tool.js'

/** @typedef {import('../types.js').ToolWithCalls} Tool */
/** @typedef {import('../types.js').McpServer} McpServer */
/** @typedef {import('../types.js').Skill} Skill */
/** @typedef {{ path: string, severity: 'error' | 'warning', message: string }} SkillProblem */

/** @type {Record<Tool['effect'], string>} */
const effects = { read: 'read-only', idempotent: 'safe to repeat', unsafe: 'may have side effects' }
/** @type {Record<Tool['approval'], string>} */
const approvals = { never: '', always: 'needs approval', depends: 'may need approval' }
/** @type {Record<Skill['source'], string>} */
const sources = { configured: 'from the configuration', project: 'from the project', user: 'from the home folder' }

/** @type {Record<Tool['source']['kind'], string>} */
const kinds = { registered: 'own', builtin: 'built-in', skill: 'Skill', mcp: 'MCP', openapi: 'OpenAPI' }
/** How long calls may go on to end before their tools are asked for again. */
const pauseMs = 2_000

/**
 * The tools and skills of the agent: where they are from, what they take and say, how their calls have ended; and any of them can be tried.
 * @param {{ live: import('../data/live.js').Live }} context
 * @param {string} [name] Of the tool to be shown.
 */
export function toolsView({ live }, name) {
  const filterId = newId()
  const filter = h('input', { id: filterId, type: 'search', placeholder: 'Name or description', autocomplete: 'off' })
  const total = h('p', { className: 'muted' })
  const tools = section('Tools', 'tool')
  const skills = section('Skills', 'skill')
  const servers = h('section', { className: 'optional' })
  const toolsError = h('div', { className: 'optional' })
  const problems = h('div', {})
  const element = h(
    'div',
    { className: 'column' },
    h('div', { className: 'view-head' }, h('h1', { tabindex: '-1' }, 'Tools and skills'), total),
    h('div', { className: 'field' }, h('label', { for: filterId }, 'Filter'), filter),
    toolsError,
    h('div', { className: 'stack' }, servers, tools.element, skills.element),
  )
  skills.element.append(problems)
  /** @type {Skill[]} */
  let found = []
  /** @type {Tool[]} */
  let all = []
  let wantedName = name
  let closed = false
  /** @type {number | undefined} */
  let reloads
  /** @type {number | undefined} */
  let timer
  const render = () => {
    const wanted = filter.value.trim().toLowerCase()
    const fits = (/** @type {{ name: string, description: string }} */ one) =>
      `${one.name} ${one.description}`.toLowerCase().includes(wanted)
    tools.show(
      all,
      all.filter((tool) => fits(tool.function)),
      {
        // Not by its calls, which are many: what is being written for a tool stays.
        key: ({ calls: _, ...tool }) => JSON.stringify(tool),
        create: (tool) => toolCard(tool, () => void loadTools()),
        update: (card, tool) => replace(card.querySelector('.past-calls') ?? card, ...pastCalls(tool)),
      },
    )
    skills.show(found, found.filter(fits), { key: (skill) => JSON.stringify(skill), create: skillCard })
    setText(total, `${count(all.length, 'tool')} · ${count(found.length, 'skill')}`)
    skills.element.hidden = found.length === 0 && problems.childElementCount === 0
    openWanted()
  }
  /** Shows the tool that the address names, once it is there. */
  const openWanted = () => {
    const card = [...tools.element.querySelectorAll('details.tool')].find((one) => one.querySelector('code')?.textContent === wantedName)
    if (!(card instanceof HTMLDetailsElement)) return
    wantedName = undefined
    card.open = true
    card.scrollIntoView({ block: 'start' })
    const summary = card.querySelector('summary')
    if (summary instanceof HTMLElement) summary.focus({ preventScroll: true })
  }
  const loadTools = async () => {
    try {
      const answer = await ask('admin/api/tools')
      all = answer.data
      replace(toolsError, all.length === 0 && noTools())
      replace(servers, ...serverList(answer.servers))
    } catch (thrown) {
      replace(toolsError, h('p', { className: 'error-text', role: 'alert' }, messageOf(thrown)))
    }
    if (!closed) render()
  }
  const loadSkills = async () => {
    try {
      const answer = await ask('admin/api/skills')
      found = answer.data
      replace(problems, answer.problems.length > 0 && problemBox(answer.problems))
    } catch (thrown) {
      replace(problems, h('p', { className: 'error-text', role: 'alert' }, messageOf(thrown)))
    }
    if (!closed) render()
  }
  filter.addEventListener('input', render)
  const stopListening = [
    live.onChange(() => {
      if (live.state?.config.reloads === reloads) return
      reloads = live.state?.config.reloads
      void loadTools()
      void loadSkills()
    }),
    live.onEvent(({ type }) => {
      if (type !== 'TOOL_CALL_END' && type !== 'TOOL_CALL_REJECTED') return
      timer ??= setTimeout(() => {
        timer = undefined
        void loadTools()
      }, pauseMs)
    }),
  ]
  return {
    element,
    title: 'Tools and skills',
    /** @param {string | undefined} other */
    navigate(other) {
      wantedName = other
      openWanted()
    },
    close() {
      closed = true
      clearTimeout(timer)
      for (const stop of stopListening) stop()
    },
  }
}

/** @param {McpServer[]} servers */
function serverList(servers) {
  if (servers.length === 0) return []
  return [
    h('h2', { className: 'servers-head' }, 'MCP servers'),
    h(
      'ul',
      { className: 'servers' },
      ...servers.map(({ name, state, problem }) =>
        h(
          'li',
          {},
          h('code', {}, name),
          h('span', { className: `badge ${state === 'ready' ? 'good' : 'bad'}` }, state),
          problem !== undefined && h('span', { className: 'muted' }, problem),
        ),
      ),
    ),
  ]
}

function noTools() {
  return h(
    'div',
    { className: 'empty' },
    h('p', {}, 'The agent has no tools yet. Name built-in ones in toolloop.yaml, or give your own:'),
    h('pre', { className: 'code' }, 'tools:\n  builtin: [calculate, current_time]'),
    h('pre', { className: 'code' }, 'toolloop serve --tools ./tools.ts'),
  )
}

/** How its last calls have ended. @param {Tool} tool */
function pastCalls({ calls: { total, failed, recent } }) {
  if (total === 0) return [h('p', { className: 'muted' }, 'Not called since the service started.')]
  const said = `${count(total, 'call')}${failed === 0 ? '' : `, ${failed.toLocaleString()} failed`}, since the service started`
  const slowest = Math.max(...recent.map(({ durationMs }) => durationMs), 1)
  return [
    h('p', { className: 'muted' }, said),
    h(
      'ol',
      { className: 'past-list' },
      ...recent.map(({ at, outcome, durationMs, errorCode, runId }) => {
        const isGood = outcome === 'ok' || outcome === 'question'
        const bar = h('span', { className: `past-bar ${isGood ? '' : 'bad'}`, 'aria-hidden': 'true' })
        bar.style.setProperty('--share', String(durationMs / slowest))
        return h(
          'li',
          {},
          bar,
          h('span', { className: 'past-time' }, duration(durationMs)),
          h('span', { className: isGood ? 'muted' : 'error-text' }, isGood ? outcome : (errorCode ?? outcome)),
          h('span', { className: 'muted' }, `${ago(at)} ago`),
          runId === undefined
            ? h('span', { className: 'muted' }, 'tried here')
            : h('span', {}, h('a', { href: `#/runs/${encodeURIComponent(runId)}` }, 'Run')),
        )
      }),
    ),
  ]
}

/**
 * @param {string} title
 * @param {string} one
 */
function section(title, one) {
  const summary = h('p', { className: 'muted', role: 'status' })
  const list = h('div', { className: 'tool-list' })
  const element = h('section', {}, h('div', { className: 'section-head' }, h('h2', {}, title), summary), list)
  /**
   * @template {object} Entry
   * @param {readonly Entry[]} all
   * @param {readonly Entry[]} shown
   * @param {{ key(entry: Entry): string, create(entry: Entry): HTMLElement, update?(element: HTMLElement, entry: Entry): void }} how
   */
  const show = (all, shown, how) => {
    setText(summary, shown.length === all.length ? '' : `${shown.length} of ${count(all.length, one)}`)
    renderList(list, shown, how)
  }
  return { element, show }
}

/**
 * A line that opens.
 * @param {string} name
 * @param {string} description
 * @param {(HTMLElement | false)[]} marks
 * @param {(HTMLElement | false)[]} body
 */
function openable(name, description, marks, body) {
  return h(
    'details',
    { className: 'tool' },
    h(
      'summary',
      { className: 'tool-summary' },
      h('code', { className: 'tool-name' }, name),
      h('span', { className: 'tool-marks' }, ...marks),
      h('span', { className: 'tool-about' }, description),
    ),
    h('div', { className: 'tool-body' }, ...body),
  )
}

/**
 * @param {Tool} tool
 * @param {() => void} onTried
 */
function toolCard(tool, onTried) {
  const {
    function: { name, description, parameters },
    effect,
    approval,
    source,
    runsHere,
  } = tool
  const properties = Object.entries(parameters?.properties ?? {})
  const required = new Set(parameters?.required)
  const form = h('div', {})
  const card = openable(
    name,
    description,
    [
      h('span', { className: 'badge off' }, [kinds[source.kind], source.name].filter(Boolean).join(': ')),
      h('span', { className: `badge ${effect === 'unsafe' ? 'wait' : 'off'}` }, effects[effect] ?? effect),
      approvals[approval] !== '' && h('span', { className: 'badge accent' }, approvals[approval]),
    ],
    [
      properties.length === 0
        ? h('p', { className: 'muted' }, 'No arguments.')
        : h('dl', { className: 'parameters' }, ...properties.flatMap(([key, schema]) => parameter(key, schema, required.has(key)))),
      h(
        'details',
        { className: 'raw' },
        h('summary', { className: 'raw-summary' }, 'JSON Schema'),
        h(
          'pre',
          { className: 'code', tabindex: '0', role: 'group', 'aria-label': `JSON Schema of ${name}` },
          JSON.stringify(parameters, null, 2),
        ),
      ),
      runsHere ? form : h('p', { className: 'muted' }, 'The client runs this tool: it can’t be tried here.'),
      h('section', {}, h('h3', {}, 'Recent calls'), h('div', { className: 'past-calls' }, ...pastCalls(tool))),
    ],
  )
  // There may be very many tools: a form is made where it is looked at.
  card.addEventListener('toggle', () => {
    if (card.open && form.childElementCount === 0) form.append(tryTool(tool, onTried))
  })
  return card
}

/** @param {Skill} skill */
function skillCard({ name, description, source, folder, allowedTools, tools, scripts, instructions }) {
  /** @type {[string, string[]][]} */
  const lists = [
    ['Folder', [folder]],
    ['Allowed tools', allowedTools],
    ['Its own tools', tools],
    ['Scripts', scripts],
  ]
  return openable(
    name,
    description,
    [h('span', { className: 'badge off' }, sources[source] ?? source)],
    [
      h(
        'dl',
        { className: 'facts' },
        ...lists.flatMap(([label, names]) =>
          names.length === 0
            ? []
            : [h('div', {}, h('dt', {}, label), h('dd', {}, ...names.flatMap((one, at) => [at > 0 && ', ', h('code', {}, one)])))],
        ),
      ),
      h(
        'div',
        { className: 'raw' },
        h('p', { className: 'muted' }, 'What the model reads when it activates the skill:'),
        longText(instructions, `Instructions of ${name}`),
      ),
    ],
  )
}

/** @param {SkillProblem[]} problems */
function problemBox(problems) {
  return h(
    'ul',
    { className: 'problems skill-problems' },
    ...problems.map(({ path, severity, message }) =>
      h(
        'li',
        {},
        h('span', { className: severity === 'error' ? 'error-text' : 'muted' }, severity === 'error' ? 'Skipped: ' : 'Note: '),
        h('code', {}, path),
        ` ${message}`,
      ),
    ),
  )
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {boolean} isRequired
 */
function parameter(name, schema, isRequired) {
  return [
    h('dt', {}, h('code', {}, name), isRequired && h('span', { className: 'required' }, 'required')),
    h(
      'dd',
      {},
      h('span', { className: 'type' }, typeOf(schema)),
      schema?.description !== undefined && h('span', {}, String(schema.description)),
    ),
  ]
}

/**
 * A schema in a few words.
 * @param {any} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (typeof schema !== 'object' || schema === null) return 'anything'
  if (Array.isArray(schema.enum)) return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return choices.map(typeOf).join(' | ')
  const bounds = [
    schema.minimum !== undefined && `≥ ${schema.minimum}`,
    schema.maximum !== undefined && `≤ ${schema.maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean)
  const type = schema.type === 'array' ? `${typeOf(schema.items)}[]` : [schema.type ?? 'anything'].flat().join(' | ')
  return [type, ...bounds].join(', ')
}
