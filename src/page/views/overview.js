import { ask, base, messageOf, post } from '../data/api.js'
import { count, duration, ending, money, short } from '../data/format.js'
import { h, replace, setText } from '../ui/dom.js'
import { barList, plot } from '../ui/plot.js'

/** @typedef {import('../types.js').Overview} Overview */

const words = { hour: 'Last hour', day: 'Last day' }
/** Runs may end all the time: what they have come to is asked for no more often. */
const pauseMs = 2_500
const lookMs = 15_000
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/**
 * What the runs of the last hour or day have come to.
 * @param {{ live: import('../data/live.js').Live }} context
 * @param {string} [wanted] `hour` or `day`.
 */
export function overviewView({ live }, wanted) {
  let name = nameOf(wanted)
  let closed = false
  let shown = ''
  /** Goes up when another time is wanted. */
  let turn = 0
  /** @type {number | undefined} */
  let timer
  const links = Object.entries(words).map(([key, label]) => h('a', { href: `#/overview/${key}`, 'data-window': key }, label))
  const now = h('p', { className: 'muted' })
  const error = h('p', { className: 'error-text', role: 'alert' })
  const body = h('div', { className: 'stack' })
  const rows = h('tbody', {})
  const table = h(
    'details',
    { className: 'raw overview-table', hidden: true },
    h('summary', { className: 'raw-summary' }, 'Show the numbers as a table'),
    h(
      'div',
      { className: 'table-box', tabindex: '0', role: 'group', 'aria-label': 'Numbers by time' },
      h(
        'table',
        {},
        h('caption', { className: 'visually-hidden' }, 'Runs by the time they ended'),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ...['From', 'Runs', 'Failures', 'Median', '95 %', 'Input tokens', 'Output tokens', 'Cost'].map((one) =>
              h('th', { scope: 'col' }, one),
            ),
          ),
        ),
        rows,
      ),
    ),
  )
  const element = h(
    'div',
    { className: 'column wide' },
    h(
      'div',
      { className: 'view-head' },
      h('h1', { tabindex: '-1' }, 'Overview'),
      h('nav', { className: 'segments', 'aria-label': 'Time' }, ...links),
      now,
    ),
    error,
    body,
    table,
  )
  const showWindow = () => {
    for (const link of links) {
      if (link.dataset.window === name) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    }
  }
  const load = async () => {
    clearTimeout(timer)
    timer = undefined
    const asked = ++turn
    try {
      const overview = await ask(`admin/api/overview?window=${name}`)
      if (closed || asked !== turn) return
      error.textContent = ''
      // Nothing is drawn anew where nothing has changed: somebody may be pointing at it.
      const text = JSON.stringify(overview)
      if (text === shown) return
      shown = text
      render(overview)
    } catch (thrown) {
      if (!closed && asked === turn) error.textContent = messageOf(thrown)
    }
  }
  /** @param {Overview} overview */
  const render = (overview) => {
    const { running, waiting, runs, since, from } = overview
    const isPart = Date.parse(since) > Date.parse(from)
    const going = [`${count(running, 'run')} running`, `${waiting.toLocaleString()} waiting for a decision`]
    setText(now, [...going, isPart && `counted since ${timeOfDay.format(new Date(since))}`].filter(Boolean).join(' · '))
    table.hidden = runs === 0
    replace(rows, ...overview.series.map((step, at) => row(step, timeOf(overview, at))))
    if (runs === 0) {
      const why = `No run has ended in the last ${name}.`
      const there = body.querySelector('.first-run > p')
      // What can be pressed there stays.
      if (there === null) replace(body, firstRun(live, why))
      else setText(there, why)
    } else replace(body, ...cards(overview))
  }
  const soon = () => {
    timer ??= setTimeout(load, pauseMs)
  }
  const looking = setInterval(() => {
    if (!document.hidden) void load()
  }, lookMs)
  const unsubscribe = live.onRuns((ids) => {
    if (ids.length > 0) soon()
  })
  showWindow()
  void load()
  return {
    element,
    title: 'Overview',
    /** @param {string | undefined} other */
    navigate(other) {
      if (nameOf(other) === name) return
      name = nameOf(other)
      showWindow()
      void load()
    },
    close() {
      closed = true
      clearTimeout(timer)
      clearInterval(looking)
      unsubscribe()
    },
  }
}

/** @param {string | undefined} wanted @returns {keyof typeof words} */
function nameOf(wanted) {
  return wanted === 'day' ? 'day' : 'hour'
}

/** @param {Overview} overview @param {number} at */
function timeOf({ from, stepMs }, at) {
  return timeOfDay.format(new Date(Date.parse(from) + at * stepMs))
}

/** @param {import('../types.js').Sums} step @param {string} time */
function row({ runs, failed, p50Ms, p95Ms, inputTokens, outputTokens, costUsd }, time) {
  const numbers = [
    ...[runs.toLocaleString(), failed.toLocaleString()],
    ...[p50Ms, p95Ms].map((ms) => (ms === null ? '–' : duration(ms))),
    ...[inputTokens.toLocaleString(), outputTokens.toLocaleString(), costUsd === 0 ? '–' : money(costUsd)],
  ]
  return h('tr', {}, h('th', { scope: 'row' }, time), ...numbers.map((one) => h('td', {}, one)))
}

/** @param {Overview} overview */
function cards(overview) {
  const { runs, failed, p50Ms, p95Ms, inputTokens, outputTokens, costUsd, series, reasons, tools } = overview
  /**
   * @param {string} title
   * @param {string} total
   * @param {string} about
   * @param {Pick<import('../ui/plot.js').PlotOptions, 'series' | 'format' | 'tone'>} how
   */
  const card = (title, total, about, how) => {
    const said = (/** @type {number} */ at) =>
      `${timeOf(overview, at)}: ${how.series.map((values) => (values[at] === null ? 'none' : how.format(values[at] ?? 0))).join(', ')}`
    const label = `${title} by time: ${total}${about === '' ? '' : `, ${about}`}. The numbers are in the table below.`
    return h(
      'section',
      { className: 'metric' },
      h('h2', {}, title),
      h('p', { className: 'metric-total' }, total),
      h('p', { className: 'muted metric-about' }, about),
      plot({ label, words: series.map((_, at) => said(at)), ...how }),
      h('p', { className: 'plot-times', 'aria-hidden': 'true' }, h('span', {}, timeOf(overview, 0)), h('span', {}, 'now')),
    )
  }
  const whole = (/** @type {number} */ value) => short(Math.round(value))
  const share = runs === 0 ? '' : `${((failed / runs) * 100).toFixed(failed / runs < 0.1 ? 1 : 0)} % of runs`
  const failures = { series: [series.map((one) => one.failed)], format: whole, tone: 'bad' }
  const tokens = { series: [series.map((one) => one.inputTokens + one.outputTokens)], format: whole }
  const longest = p95Ms === null ? '–' : duration(p95Ms)
  const lists = [
    listed(
      'How other runs ended',
      'Every run was answered.',
      'bad',
      reasons.map(({ stopReason, errorCode, runs: value }) => ({
        name: errorCode === undefined ? ending(stopReason) : `${ending(stopReason)}: ${errorCode}`,
        value,
      })),
    ),
    listed(
      'Tools, by runs that called them',
      'No run has called a tool.',
      '',
      tools.map(({ tool, runs: value }) => ({ name: tool, value })),
    ),
  ]
  return [
    h(
      'div',
      { className: 'metrics plots' },
      card('Runs', whole(runs), 'ended', { series: [series.map((one) => one.runs)], format: whole }),
      card('Failures', whole(failed), failed === 0 ? '' : share, failures),
      card('Duration', p50Ms === null ? '–' : duration(p50Ms), `median; 95 % within ${longest} (dashed line)`, {
        series: [series.map((one) => one.p50Ms), series.map((one) => one.p95Ms)],
        format: duration,
      }),
      card('Tokens', whole(inputTokens + outputTokens), `${whole(inputTokens)} in, ${whole(outputTokens)} out`, tokens),
      card('Cost', costUsd === 0 ? '–' : money(costUsd), costUsd === 0 ? 'no price is known' : '', {
        series: [series.map((one) => one.costUsd)],
        format: money,
      }),
    ),
    h('div', { className: 'metrics' }, ...lists),
  ]
}

/**
 * @param {string} title
 * @param {string} none
 * @param {string} tone
 * @param {{ name: string, value: number }[]} bars
 */
function listed(title, none, tone, bars) {
  return h(
    'section',
    { className: 'metric' },
    h('h2', {}, title),
    bars.length === 0 ? h('p', { className: 'muted' }, none) : barList(bars, tone),
  )
}

/**
 * How to get a first run, where there is none.
 * @param {import('../data/live.js').Live} live
 * @param {string} why
 */
export function firstRun(live, why) {
  const command = `curl -s ${new URL('v1/runs', base)} \\\n  -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\\n  -d '{"input": "What is 17 * 23?"}'`
  const text = h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': 'Command' }, command)
  const said = h('span', { className: 'muted', role: 'status' })
  const copy = h('button', { type: 'button' }, 'Copy command')
  copy.addEventListener('click', () => {
    navigator.clipboard.writeText(command).then(
      () => setText(said, 'Copied'),
      () => {
        getSelection()?.selectAllChildren(text)
        setText(said, 'Selected: copy it with the keyboard')
      },
    )
  })
  const demo = live.state?.models.find(({ provider }) => provider === 'demo')
  const start = h('button', { type: 'button', className: 'primary' }, 'Start a demo run')
  start.addEventListener('click', async () => {
    try {
      const { id } = await post('v1/runs', { input: 'What is 17 * 23?', model: demo?.name, background: true })
      location.hash = `#/runs/${encodeURIComponent(id)}`
    } catch (thrown) {
      setText(said, messageOf(thrown))
    }
  })
  return h(
    'div',
    { className: 'empty first-run' },
    h('p', {}, why),
    h('p', {}, 'Start one with a token of the role ', h('code', {}, 'run'), ':'),
    text,
    h(
      'div',
      { className: 'buttons' },
      demo !== undefined && start,
      copy,
      h('p', {}, h('a', { href: '#/chat' }, 'Or chat with the agent')),
      said,
    ),
  )
}
