import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../ui/copy.tsx'
import { Icon } from '../ui/icon.tsx'
import type { blocksOf, MarkdownBlock } from './markdown.tsx'
import { type Part, partAt } from './markdown-parts.ts'
import { TextBlocks } from './text-blocks.ts'

/** Maximum number of characters to show: at first, and while the text is still being written. */
const firstPage = 100_000
const mostWhileWriting = 2_000_000
/** Number of parts that are drawn without a pause. Drawing a part takes some milliseconds. */
const partsAtOnce = 3
/** The pauses between drawings, in milliseconds. While the text is still being written, the pauses are longer. */
const shortRestMs = 10
const restMs = 50

/** Matches a text that may contain Markdown. Any other text is shown unchanged. */
const hasMarkup = /[*_`#[\]<>|~&\\]|^[ \t]*(?:[-+] |\d+[.)] |={3,}|-{3,})|https?:\/\/|www\./m

/** The Markdown parser. It is loaded for the first answer that needs it. */
let loading: Promise<typeof blocksOf> | undefined
let reader: typeof blocksOf | undefined

function loadReader(): Promise<typeof blocksOf> {
  loading ??= import('./markdown.tsx').then((loaded) => {
    reader = loaded.blocksOf
    return reader
  })
  loading.catch(() => {
    loading = undefined
  })
  return loading
}

/** Shows a model's text as Markdown or as plain text. While the text is being written, it appears part by part. */
export function Answer({ text, isWriting = false }: { text: string; isWriting?: boolean }) {
  const [asWritten, setAsWritten] = useState(false)
  const [wanted, setWanted] = useState(firstPage)
  const parts = useParts(text, isWriting ? mostWhileWriting : wanted, isWriting)
  const shown = parts.at(-1)?.part.end ?? 0
  const left = isWriting || asWritten ? 0 : text.length - shown
  return (
    <div class="answer">
      <div class="answer-tools">
        <button
          type="button"
          class="quiet tool-button"
          aria-label="As written"
          title="As written"
          aria-pressed={asWritten}
          onClick={() => setAsWritten(!asWritten)}
        >
          <Icon name="code" />
        </button>
        <CopyButton label="Copy answer" textOf={() => text} />
      </div>
      {asWritten ? <AsWritten text={text} /> : <div class="answer-body">{parts.map(({ node }) => node)}</div>}
      {left > 0 && (
        <button type="button" class="link-button" onClick={() => setWanted(shown + firstPage)}>
          {`Show ${Math.min(firstPage, left).toLocaleString()} of ${left.toLocaleString()} more characters`}
        </button>
      )}
    </div>
  )
}

function AsWritten({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (place.current === null) return
    place.current.replaceChildren()
    new TextBlocks(text, place.current)
  }, [text])
  return <div class="answer-body" ref={place} />
}

interface Drawn {
  part: Part
  /** The rendered part, which is reused while the part is unchanged. */
  node: VNode
}

/** Draws a text up to the position `most`, a few parts at a time. Returns the parts drawn so far. */
function useParts(text: string, most: number, isWriting: boolean): readonly Drawn[] {
  const [parts, setParts] = useState<readonly Drawn[]>([])
  const [drawing] = useState(() => new Drawing(setParts))
  useLayoutEffect(() => drawing.show(text, most, isWriting), [drawing, text, most, isWriting])
  useEffect(() => () => drawing.stop(), [drawing])
  return parts
}

/** Draws the parts of a text, which may grow. */
class Drawing {
  readonly #onDrawn: (parts: readonly Drawn[]) => void
  #text = ''
  #most = 0
  #isWriting = false
  /** The parts drawn so far, and the text that they come from. */
  #parts: Drawn[] = []
  #known = ''
  /** The prefix of the next part: the opening line of its code fence, or the header of its table. */
  #next = ''
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(onDrawn: (parts: readonly Drawn[]) => void) {
    this.#onDrawn = onDrawn
  }

  show(text: string, most: number, isWriting: boolean): void {
    this.#text = text
    this.#most = most
    this.#isWriting = isWriting
    if (isWriting) this.#timer ??= setTimeout(() => this.#draw(), this.#parts.length === 0 ? 0 : restMs)
    else this.#draw()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #draw(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!this.#text.startsWith(this.#known)) {
      this.#parts = []
      this.#next = ''
    }
    this.#known = this.#text
    let drawn = 0
    while (drawn < partsAtOnce && this.#drawPart()) drawn++
    if (drawn === partsAtOnce) this.#timer = setTimeout(() => this.#draw(), this.#isWriting ? restMs : shortRestMs)
    this.#onDrawn([...this.#parts])
  }

  /** Draws one part. Returns whether there may be another part. */
  #drawPart(): boolean {
    const text = this.#text
    const last = this.#parts.at(-1)?.part
    const start = last === undefined ? 0 : last.isOpen ? last.start : last.end
    if (start >= text.length || (start >= this.#most && !last?.isOpen)) return false
    const { part, next } = partAt(text, start, last?.isOpen ? last.prefix : this.#next)
    if (last?.isOpen && last.end === part.end) return false
    if (last?.isOpen) this.#parts.pop()
    this.#parts.push({ part, node: <AnswerPart key={part.start} prefix={part.prefix} text={text.slice(part.start, part.end)} /> })
    this.#next = next
    return !part.isOpen
  }
}

function AnswerPart({ prefix, text }: { prefix: string; text: string }) {
  const [read, setRead] = useState(() => reader)
  const shown = useRef<{ block: MarkdownBlock; node: VNode }[]>([])
  const needsReader = prefix !== '' || hasMarkup.test(text)
  useEffect(() => {
    if (!needsReader || read !== undefined) return
    let isGone = false
    // If the parser can't be loaded, the text stays unformatted.
    loadReader().then(
      (loaded) => !isGone && setRead(() => loaded),
      () => {},
    )
    return () => {
      isGone = true
    }
  }, [needsReader, read])
  const blocks = needsReader ? read?.(prefix + text) : undefined
  if (blocks === undefined) return <div class="answer-part plain">{text}</div>
  // Unchanged blocks keep their elements, so that a selection in them is not lost.
  shown.current = blocks.map((block, at) => {
    const before = shown.current[at]
    return before?.block.raw === block.raw ? before : { block, node: <Block block={block} /> }
  })
  return <div class="answer-part">{shown.current.map(({ node }) => node)}</div>
}

function Block({ block }: { block: MarkdownBlock }) {
  return <>{block.draw()}</>
}
