import { useEffect, useRef, useState } from 'preact/hooks'
import type { Found } from './found.ts'

/** How long typing must pause before the search starts, in milliseconds. */
const typingMs = 150

interface Props<Match> {
  /** A description of the content that is searched. */
  label: string
  /** Finds the matches of a query. The search can stop once `isOver` returns true. */
  find(query: string, isOver: () => boolean): Found<Match> | Promise<Found<Match>>
  /** Shows a match. With undefined, removes the highlight. */
  show(match: Match | undefined): void
}

/** A search field with buttons for the next and previous match. */
export function FindBar<Match>({ label, find, show }: Props<Match>) {
  const [found, setFound] = useState<Found<Match> & { at: number; said: string }>({ matches: [], isCut: false, at: 0, said: '' })
  const searches = useRef(0)
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(
    () => () => {
      clearTimeout(typing.current)
      searches.current++
    },
    [],
  )
  const search = async (query: string) => {
    const own = ++searches.current
    const isOver = () => own !== searches.current
    setFound({ matches: [], isCut: false, at: 0, said: query === '' ? '' : 'Searching…' })
    const result = query === '' ? { matches: [], isCut: false } : await find(query, isOver)
    if (isOver()) return
    setFound({ ...result, at: 0, said: query === '' ? '' : placeOf(result, 0) })
    show(result.matches[0])
  }
  const type = (query: string) => {
    clearTimeout(typing.current)
    typing.current = setTimeout(() => void search(query), typingMs)
  }
  const step = (by: number) => {
    const { matches, isCut, at } = found
    if (matches.length === 0) return
    const next = (at + by + matches.length) % matches.length
    setFound({ matches, isCut, at: next, said: placeOf(found, next) })
    show(matches[next])
  }
  const hasOthers = found.matches.length > 1
  return (
    <search class="find-bar">
      <input
        type="search"
        aria-label={`Find in ${label}`}
        placeholder="Find"
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          step(event.shiftKey ? -1 : 1)
        }}
      />
      <span class="muted" role="status">
        {found.said}
      </span>
      <button type="button" class="quiet tool-button" aria-label="Previous match" hidden={!hasOthers} onClick={() => step(-1)}>
        ↑
      </button>
      <button type="button" class="quiet tool-button" aria-label="Next match" hidden={!hasOthers} onClick={() => step(1)}>
        ↓
      </button>
    </search>
  )
}

function placeOf({ matches, isCut }: Found<unknown>, at: number): string {
  if (matches.length === 0) return 'Not found'
  return `${(at + 1).toLocaleString()} of ${matches.length.toLocaleString()}${isCut ? '+' : ''}`
}
