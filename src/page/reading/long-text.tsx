import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { CopyButton } from '../ui/copy.tsx'
import { scrollable } from '../ui/scrollable.ts'
import { FindBar } from './find-bar.tsx'
import { type Found, markFound, mostMatches, patternOf } from './found.ts'
import { TextBlocks } from './text-blocks.ts'

/** The size of a short text. A longer text is shown completely only on request. */
const shortLength = 1_200
const shortLines = 10
/** Minimum number of hidden lines. For fewer lines, the button would take as much space as the lines themselves. */
const slackLines = 4

/** Whether a text is short enough to be shown completely from the start. */
export function isShort(text: string): boolean {
  return text.length <= shortLength && text.split('\n', shortLines + slackLines + 1).length <= shortLines + slackLines
}

/**
 * Shows a text. Invisible characters are made visible. For a long text, shows the beginning, with a button that shows the rest and a field
 * that searches it. `label` is the accessible name of the text.
 */
export function LongText({ text, label }: { text: string; label: string }) {
  if (!isShort(text)) return <FoldedText key={text} text={text} label={label} />
  return (
    <div class="value">
      <pre class="code">{visibleLines(text)}</pre>
      <CopyButton label={`Copy ${label.toLowerCase()}`} textOf={() => text} />
    </div>
  )
}

function FoldedText({ text, label }: { text: string; label: string }) {
  const place = useRef<HTMLPreElement>(null)
  const blocks = useRef<TextBlocks | undefined>(undefined)
  const [isOpen, setIsOpen] = useState(false)
  useLayoutEffect(() => {
    blocks.current = isOpen && place.current !== null ? new TextBlocks(text, place.current) : undefined
  }, [text, isOpen])
  return (
    <div class="value long-text">
      <pre key={isOpen} ref={place} class="code" {...scrollable(label)}>
        {isOpen ? null : visibleLines(text.slice(0, shortLength).split('\n', shortLines).join('\n'))}
      </pre>
      <div class="value-tools">
        <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${text.length.toLocaleString()} characters`}
        </button>
        {isOpen && <TextFinder text={text} label={label} rangeOf={(start, end) => blocks.current?.rangeOf(start, end)} />}
      </div>
      <CopyButton label={`Copy ${label.toLowerCase()}`} textOf={() => text} />
    </div>
  )
}

interface FinderProps {
  text: string
  label: string
  /** Returns the DOM range of a part of the text. */
  rangeOf(start: number, end: number): Range | undefined
}

/** A field that searches a text. */
export function TextFinder({ text, label, rangeOf }: FinderProps) {
  const find = (query: string): Found<[start: number, end: number]> => {
    const matches: [number, number][] = []
    for (const { index, 0: found } of text.matchAll(patternOf(query))) {
      if (matches.length === mostMatches) return { matches, isCut: true }
      matches.push([index, index + found.length])
    }
    return { matches, isCut: false }
  }
  return <FindBar label={label} find={find} show={(match) => markFound(match && rangeOf(...match))} />
}
