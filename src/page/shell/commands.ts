import { ago } from '../data/format.ts'
import { openExport } from '../runs/dialogs.ts'
import type { Run } from '../types.ts'
import { type Session, signOut } from './access.ts'
import { address } from './address.ts'
import type { Command, Commands } from './palette.tsx'
import { places } from './places.ts'
import { showShortcuts } from './shortcuts.ts'

const mostRuns = 20
const mostListed = 5

export function commandsOf({ live, conversation }: Session): Commands {
  const { place, param } = address.value
  const runId = place === 'runs' ? param : undefined
  const theme = document.getElementById('theme-button')
  const all: Command[] = [
    ...places.map(({ name, words, key }) => ({ group: 'Views', name: words, keys: `g ${key}`, run: goTo(`#/${name}`) })),
    ...(runId === undefined ? [] : [{ group: 'Actions', name: 'Export this run', about: runId, run: () => openExport(runId) }]),
    { group: 'Actions', name: theme?.getAttribute('aria-label') ?? 'Colours', run: () => theme?.click() },
    {
      group: 'Actions',
      name: 'New conversation',
      run: () => {
        location.hash = '#/chat'
        conversation.restart()
      },
    },
    { group: 'Actions', name: 'Keyboard shortcuts', keys: '?', run: showShortcuts },
    { group: 'Actions', name: 'Sign out', run: signOut },
    ...(live.state?.tools ?? []).map(({ function: { name, description } }) => ({
      group: 'Tools',
      name,
      about: description,
      run: goTo(`#/tools/${encodeURIComponent(name)}`),
    })),
  ]
  return {
    find(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean)
      const fits = ({ name, about = '' }: Command) => words.every((word) => `${name} ${about}`.toLowerCase().includes(word))
      const newest = (live.newest?.data ?? []).map(({ id }) => live.run(id)).filter((run) => run !== undefined)
      const runs = newest.map(commandOfRun).filter(fits)
      // Tools are listed only if the user searches, because there may be very many.
      const listed = words.length === 0 ? all.filter(({ group }) => group !== 'Tools') : all.filter(fits)
      return [...listed, ...runs.slice(0, words.length === 0 ? mostListed : mostRuns)]
    },
    async search(text, signal) {
      const { data } = await live.askRuns({ limit: String(mostRuns), q: text.slice(0, 500) }, { signal })
      return data.map(commandOfRun)
    },
  }
}

function commandOfRun({ id, input, createdAt }: Run): Command {
  return {
    group: 'Runs',
    name: input === '' ? id : input,
    about: `${id} · ${ago(createdAt)} ago`,
    run: goTo(`#/runs/${encodeURIComponent(id)}`),
  }
}

function goTo(hash: string): () => void {
  return () => {
    location.hash = hash
  }
}
