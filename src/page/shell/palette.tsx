import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { readable } from '../../core/text/visible.ts'
import { showDialog } from '../ui/dialog.tsx'
import { useNewId } from '../ui/new-id.ts'

export interface Command {
  /** The heading under which the command is listed. */
  group: string
  name: string
  about?: string
  keys?: string
  run(): unknown
}

export interface Commands {
  /** Returns the known commands that match. The best match comes first. */
  find(text: string): Command[]
  /** Requests further commands from the service. May reject. */
  search(text: string, signal: AbortSignal): Promise<Command[]>
}

const mostShown = 60
/** How long typing must pause before the service is asked, in milliseconds. */
const searchMs = 200
/** Number of options by which Page Down moves. */
const pageSize = 8

/** Opens the command palette, a field that searches views, runs, tools and actions. If the palette is open, closes it. */
export async function openPalette(commands: Commands): Promise<void> {
  const open = document.querySelector<HTMLDialogElement>('dialog[open]')
  if (open !== null) return open.classList.contains('palette') ? open.close() : undefined
  const command = await showDialog<Command>((close) => <Palette {...commands} onChoose={close} />, {
    label: 'Commands',
    class: 'palette',
    isLight: true,
  })
  await command?.run()
}

/** A combobox with a list, as in https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. */
function Palette({ find, search, onChoose }: Commands & { onChoose(command: Command): void }) {
  const id = useNewId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const known = useMemo(() => find(text), [find, text])
  const others = useSearch(search, text)
  const groups = grouped(others instanceof Error ? known : withOthers(known, others ?? []))
  const options = groups.flatMap(({ options }) => options)
  const idOf = (at: number) => `${id}-${at}`
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return
    const last = options.length - 1
    const steps: Record<string, number> = {
      ArrowDown: chosen >= last ? 0 : chosen + 1,
      ArrowUp: chosen <= 0 ? last : chosen - 1,
      PageDown: Math.min(last, chosen + pageSize),
      PageUp: Math.max(0, chosen - pageSize),
    }
    const next = steps[event.key]
    const option = options[chosen]
    if (event.key === 'Enter' && option !== undefined) onChoose(option.command)
    else if (next !== undefined && last >= 0) setChosen(next)
    else if (event.key !== 'Enter') return
    event.preventDefault()
  }
  const count = options.length === 0 ? 'Nothing found' : `${options.length} found`
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-activedescendant={options.length === 0 ? undefined : idOf(chosen)}
        autocomplete="off"
        spellcheck={false}
        placeholder="Find a view, run, tool or action"
        onKeyDown={onKeyDown}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value.trim())
          setChosen(0)
        }}
      />
      <div id={id} role="listbox" aria-label="Commands" class="palette-list">
        {groups.map(({ name, options }) => (
          // biome-ignore lint/a11y/useSemanticElements: in a listbox, options belong to a group, not to a fieldset
          <div key={name} role="group" aria-label={name}>
            <div class="palette-group" role="presentation">
              {name}
            </div>
            {options.map(({ command, at }) => (
              <Option key={at} id={idOf(at)} command={command} isChosen={at === chosen} onChoose={onChoose} />
            ))}
          </div>
        ))}
      </div>
      <p class="palette-said muted" role="status">
        {others instanceof Error ? 'Runs could not be looked for' : text !== '' && others === undefined ? 'Looking for runs…' : count}
      </p>
    </>
  )
}

interface OptionProps {
  id: string
  command: Command
  isChosen: boolean
  onChoose(command: Command): void
}

function Option({ id, command, isChosen, onChoose }: OptionProps) {
  const option = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isChosen) option.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])
  return (
    // biome-ignore lint/a11y: the focus stays in the combobox, which has the keys
    <div ref={option} id={id} role="option" class="palette-option" aria-selected={isChosen} onClick={() => onChoose(command)}>
      <span class="palette-name">{command.name}</span>
      {command.about !== undefined && <span class="muted palette-about">{readable(command.about)}</span>}
      {command.keys !== undefined && <kbd>{command.keys}</kbd>}
    </div>
  )
}

/** Returns the search results after a pause in typing. Returns undefined if there are no results yet, and an error if the search failed. */
function useSearch(search: Commands['search'], text: string): Command[] | Error | undefined {
  const [found, setFound] = useState<{ text: string; commands: Command[] | Error }>()
  useEffect(() => {
    if (text === '') return
    const searching = new AbortController()
    const timer = setTimeout(async () => {
      const commands = await search(text, searching.signal).catch((thrown: unknown) => new Error(String(thrown)))
      if (!searching.signal.aborted) setFound({ text, commands })
    }, searchMs)
    return () => {
      clearTimeout(timer)
      searching.abort()
    }
  }, [search, text])
  return found?.text === text ? found.commands : undefined
}

/** Appends further commands. Known commands keep their positions. */
function withOthers(known: Command[], others: Command[]): Command[] {
  const names = new Set(known.map(({ group, name }) => `${group} ${name}`))
  return [...known, ...others.filter(({ group, name }) => !names.has(`${group} ${name}`))]
}

/** Groups commands. The groups have the order of their first commands, and each command has its position in the list. */
function grouped(commands: Command[]): { name: string; options: { command: Command; at: number }[] }[] {
  let at = 0
  return [...Map.groupBy(commands.slice(0, mostShown), ({ group }) => group)].map(([name, members]) => ({
    name,
    options: members.map((command) => ({ command, at: at++ })),
  }))
}
