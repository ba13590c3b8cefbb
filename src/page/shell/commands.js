import { ask } from '../data/api.js'
import { ago } from '../data/format.js'
import { exportDialog } from '../runs/export-dialog.tsx'

/** @typedef {import('./palette.js').Command} Command */

const mostRuns = 20
const mostListed = 5

/**
 * What the command palette finds.
 * @param {object} page
 * @param {import('../data/live.js').Live} page.live
 * @param {readonly (readonly [name: string, words: string, ...rest: string[]])[]} page.places
 * @param {Record<string, string>} page.keys Second keys of the shortcuts for places.
 * @param {Command[]} page.actions
 * @param {string | undefined} page.runId Of the run that is shown.
 * @returns {import('./palette.js').Commands}
 */
export function commandsOf({ live, places, keys, actions, runId }) {
  const shortcuts = new Map(Object.entries(keys).map(([key, name]) => [name, `g ${key}`]))
  const goTo = (/** @type {string} */ hash) => () => {
    location.hash = hash
  }
  const ofRun = (/** @type {import('../types.js').Run} */ run) => ({
    group: 'Runs',
    name: run.input === '' ? run.id : run.input,
    about: `${run.id} · ${ago(run.createdAt)} ago`,
    run: goTo(`#/runs/${encodeURIComponent(run.id)}`),
  })
  /** @type {Command[]} */
  const all = [
    ...places.map(([name, words]) => ({ group: 'Views', name: words, keys: shortcuts.get(name), run: goTo(`#/${name}`) })),
    ...(runId === undefined ? [] : [{ group: 'Actions', name: 'Export this run', about: runId, run: () => exportDialog(runId) }]),
    ...actions,
    ...(live.state?.tools ?? []).map(({ function: { name, description } }) => ({
      group: 'Tools',
      name,
      about: description,
      run: goTo(`#/tools/${encodeURIComponent(name)}`),
    })),
  ]
  const newest = () => (live.newest?.data ?? []).map(({ id }) => live.run(id)).filter((run) => run !== undefined)
  return {
    find(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean)
      const fits = (/** @type {Command} */ { name, about = '' }) => words.every((word) => `${name} ${about}`.toLowerCase().includes(word))
      const runs = newest().map(ofRun).filter(fits)
      // Tools may be very many: they are found by their names.
      const listed = words.length === 0 ? all.filter(({ group }) => group !== 'Tools') : all.filter(fits)
      return [...listed, ...runs.slice(0, words.length === 0 ? mostListed : mostRuns)]
    },
    async search(text, signal) {
      const { data } = await ask(`v1/runs?${new URLSearchParams({ output: 'short', limit: String(mostRuns), q: text.slice(0, 500) })}`, {
        signal,
      })
      for (const run of data) live.learn(run)
      return data.map(ofRun)
    },
  }
}
