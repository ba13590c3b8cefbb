import type { VNode } from 'preact'
import { useCallback, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { count } from '../data/format.ts'
import { copyText } from '../ui/copy.tsx'
import { inSlices, nextTask } from '../ui/slices.ts'
import { FindBar } from './find-bar.tsx'
import { type Found, markFound, mostMatches, patternOf } from './found.ts'
import { type JsonNode, type JsonPath, nodesTo, partsOf, pathOf, previewOf, rootOf, sizeOf, walk } from './json-nodes.ts'
import { TextBlocks } from './text-blocks.ts'

/** Maximum length of a text that is shown completely in its row. The row of a longer text shows its beginning until the row is opened. */
const mostInline = 160
/** Maximum number of rows that are open at first. */
const mostOpenAtFirst = 24
/** Maximum number of rows that one action opens. The user opens further rows individually. */
const mostOpenAtOnce = 2_000
/** Number of rows that are drawn without a pause. */
const rowsAtOnce = 100
const deepestIndent = 12

/**
 * Shows JSON as a tree with foldable nodes. Folded content is not in the document. All rows are siblings; an attribute gives the depth of
 * each row.
 */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const root = useMemo(() => rootOf(value), [value])
  return <Tree key={root.id} root={root} label={label} />
}

function Tree({ root, label }: { root: JsonNode; label: string }) {
  const [open, setOpen] = useState<ReadonlySet<JsonNode>>(() => new Set(opening(root, new Set(), mostOpenAtFirst)))
  const [selected, setSelected] = useState(root)
  /** A counter that increases whenever a node opens or closes. `unfold` stops if the counter has changed. */
  const turn = useRef(0)
  const change = (nodes: ReadonlySet<JsonNode>) => {
    turn.current++
    setOpen(nodes)
  }
  const drawn = useDrawnRows(root, open, selected)
  /** Called with the selected row once the row is drawn. */
  const next = useRef<((row: RowOnPage) => void) | undefined>(undefined)
  const searched = useRef(patternOf(''))
  const [, drawAgain] = useReducer<number, void>((times) => times + 1, 0)
  const select = (node: JsonNode, then?: (row: RowOnPage) => void) => {
    next.current = then
    setSelected(node)
    drawAgain()
  }
  const go = (node: JsonNode | undefined) => node && select(node, ({ element }) => element.focus())
  useLayoutEffect(() => {
    const row = drawn.onPage.get(selected)
    if (row !== undefined) next.current?.(row)
    next.current = undefined
  })
  const setIsOpen = (node: JsonNode, isOpen: boolean) => {
    const others = new Set(open)
    if (isOpen) others.add(node)
    else others.delete(node)
    change(others)
    if (!isOpen && isInside(selected, node)) setSelected(node)
  }
  const unfold = async () => {
    const own = ++turn.current
    const now = new Set(open)
    let rows = 0
    for (const node of opening(root, open, mostOpenAtOnce)) {
      now.add(node)
      rows += sizeOf(node)
      if (rows < rowsAtOnce) continue
      setOpen(new Set(now))
      rows = 0
      await nextTask()
      if (own !== turn.current) return
    }
    setOpen(now)
  }
  const fold = () => {
    change(new Set())
    setSelected(root)
  }
  const find = async (query: string, isOver: () => boolean): Promise<Found<JsonPath>> => {
    searched.current = patternOf(query)
    return findIn(root.value, searched.current, isOver)
  }
  const show = (path: JsonPath | undefined) => {
    const nodes = path === undefined ? [] : nodesTo(root, path)
    const found = nodes.at(-1)
    if (found === undefined) return markFound(undefined)
    const others = nodes.slice(0, -1)
    change(new Set([...open, ...others, ...(typeof found.value === 'string' && isFoldable(found) ? [found] : [])]))
    select(found, (row) => markFound(rangeIn(row, found, searched.current)))
  }
  const press = (event: KeyboardEvent) => {
    if (event.target !== drawn.onPage.get(selected)?.element || event.ctrlKey || event.metaKey || event.altKey) return
    const act = keys({ ...drawn, open, selected, go, setIsOpen })[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const click = ({ target }: MouseEvent) => {
    const node = target instanceof Element && target.closest('.json-text') === null ? drawn.nodeAt(target) : undefined
    // A click that ends a text selection does not fold anything.
    if (node === undefined || getSelection()?.isCollapsed === false) return
    if (isFoldable(node)) setIsOpen(node, !open.has(node))
    go(node)
  }
  const focus = ({ target }: FocusEvent) => {
    const node = target instanceof Element ? drawn.nodeAt(target) : undefined
    if (node !== undefined && node !== selected) select(node)
  }
  /** Copies the focused row, unless the user has selected text. */
  const copy = (event: ClipboardEvent) => {
    if (getSelection()?.isCollapsed === false) return
    event.clipboardData?.setData('text/plain', textOf(selected))
    event.preventDefault()
  }
  const acts: [words: string, act: () => unknown][] = [
    ['Unfold all', unfold],
    ['Fold all', fold],
    ['Copy all', () => copyText(textOf(root))],
    ['Copy value', () => copyText(textOf(selected))],
    ['Copy path', () => copyText(pathOf(selected))],
  ]
  return (
    <div class="value">
      <div class="json-tree code" role="tree" aria-label={label} onClick={click} onKeyDown={press} onFocusIn={focus} onCopy={copy}>
        {drawn.rows.map(({ vnode }) => vnode)}
      </div>
      <div class="value-tools">
        <FindBar label={label} find={find} show={show} />
        {acts.map(([words, act]) => (
          <button key={words} type="button" class="link-button" onClick={act}>
            {words}
          </button>
        ))}
        <code class="json-path">{visibleLines(pathOf(selected))}</code>
      </div>
    </div>
  )
}

/** A drawn row. `text` is set if the row shows a long text that is open. */
interface RowOnPage {
  element: HTMLElement
  text?: TextBlocks | undefined
}

/** Returns the rows of the open nodes. An unchanged row keeps its vnode, so it is not rendered again. */
function useDrawnRows(root: JsonNode, open: ReadonlySet<JsonNode>, selected: JsonNode) {
  const known = useRef(new WeakMap<JsonNode, { vnode: VNode; isOpen: boolean; isSelected: boolean }>())
  const { onPage, nodes } = useMemo(() => ({ onPage: new WeakMap<JsonNode, RowOnPage>(), nodes: new WeakMap<Element, JsonNode>() }), [])
  const list = useMemo(() => [...rowsOf(root, open)], [root, open])
  const rows = list.map(({ node, place, size }) => {
    const [isOpen, isSelected] = [open.has(node), node === selected]
    const before = known.current.get(node)
    if (before?.isOpen === isOpen && before.isSelected === isSelected) return { node, vnode: before.vnode }
    const tell = (row: RowOnPage) => {
      onPage.set(node, row)
      nodes.set(row.element, node)
    }
    const vnode = <JsonRow key={node.id} {...{ node, place, size, isOpen, isSelected, tell }} />
    known.current.set(node, { vnode, isOpen, isSelected })
    return { node, vnode }
  })
  const nodeAt = (target: Element) => {
    const element = target.closest('.json-row')
    return element === null ? undefined : nodes.get(element)
  }
  return { rows, onPage, nodeAt }
}

interface RowProps {
  node: JsonNode
  place: number
  /** The number of nodes with the same parent, including this node. */
  size: number
  isOpen: boolean
  isSelected: boolean
  /** Called when the row is in the document, and again when its text opens or closes. */
  tell(row: RowOnPage): void
}

function JsonRow({ node, place, size, isOpen, isSelected, tell }: RowProps) {
  const { depth, key, range, value } = node
  const row = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (row.current !== null) tell({ element: row.current })
  }, [tell])
  const tellText = useCallback((text: TextBlocks | undefined) => row.current && tell({ element: row.current, text }), [tell])
  const name = range === undefined ? (typeof key === 'string' ? visibleLines(key) : key) : `${range[0]} … ${range[1] - 1}`
  return (
    <div
      ref={row}
      class="json-row"
      role="treeitem"
      tabIndex={isSelected ? 0 : -1}
      aria-level={depth + 1}
      aria-posinset={place}
      aria-setsize={size}
      aria-selected={isSelected}
      aria-expanded={isFoldable(node) ? isOpen : undefined}
      style={{ paddingInlineStart: `${1.1 + Math.min(depth, deepestIndent) * 1.1}em` }}
    >
      {name !== undefined && (
        <>
          <span class={range === undefined ? 'json-key' : 'muted'}>
            <bdi>{name}</bdi>
          </span>
          {': '}
        </>
      )}
      {range === undefined && <bdi data-kind={value === null ? 'null' : typeof value}>{visibleLines(shortOf(node))}</bdi>}
      {isOpen && typeof value === 'string' && <RowText text={value} tell={tellText} />}
    </div>
  )
}

function RowText({ text, tell }: { text: string; tell(text: TextBlocks | undefined): void }) {
  const place = useRef<HTMLPreElement>(null)
  useLayoutEffect(() => {
    if (place.current !== null) tell(new TextBlocks(text, place.current))
    return () => tell(undefined)
  }, [text, tell])
  return <pre ref={place} class="json-text code" />
}

interface Around {
  rows: { node: JsonNode }[]
  open: ReadonlySet<JsonNode>
  selected: JsonNode
  go(node: JsonNode | undefined): void
  setIsOpen(node: JsonNode, isOpen: boolean): void
}

/** The actions of keys, as in a tree view: https://www.w3.org/WAI/ARIA/apg/patterns/treeview/ */
function keys({ rows, open, selected, go, setIsOpen }: Around): Record<string, () => void> {
  const at = rows.findIndex(({ node }) => node === selected)
  const isOpen = open.has(selected)
  const canOpen = isFoldable(selected)
  const toggle = () => canOpen && setIsOpen(selected, !isOpen)
  return {
    ArrowDown: () => go(rows[at + 1]?.node),
    ArrowUp: () => go(rows[at - 1]?.node),
    Home: () => go(rows[0]?.node),
    End: () => go(rows.at(-1)?.node),
    Enter: toggle,
    ' ': toggle,
    ArrowRight: () => (canOpen && !isOpen ? setIsOpen(selected, true) : isOpen && go(rows[at + 1]?.node)),
    ArrowLeft: () => (isOpen ? setIsOpen(selected, false) : go(selected.parent)),
  }
}

/** Iterates over the visible rows, in order: the row of the node and, if it is open, the rows inside it. */
function* rowsOf(
  node: JsonNode,
  open: ReadonlySet<JsonNode>,
  place = 1,
  size = 1,
): Generator<{ node: JsonNode; place: number; size: number }> {
  yield { node, place, size }
  if (!open.has(node) || sizeOf(node) === 0) return
  const parts = partsOf(node)
  for (const [at, part] of parts.entries()) yield* rowsOf(part, open, at + 1, parts.length)
}

/** Iterates over the nodes to open, outermost first. Skips nodes that would make the tree longer than `most` rows. */
function* opening(root: JsonNode, open: ReadonlySet<JsonNode>, most: number): Generator<JsonNode> {
  const nodes = [root]
  let rows = 1
  for (const node of nodes) {
    const size = sizeOf(node)
    if (size === 0) continue
    const parts = Math.min(size, 100)
    if (!open.has(node)) {
      if (rows + parts > most && node !== root) continue
      yield node
    }
    rows += parts
    nodes.push(...partsOf(node))
  }
}

function isInside(node: JsonNode, outer: JsonNode): boolean {
  for (let one = node.parent; one !== undefined; one = one.parent) if (one === outer) return true
  return false
}

async function findIn(root: unknown, pattern: RegExp, isOver: () => boolean): Promise<Found<JsonPath>> {
  const fits = (text: unknown) => {
    pattern.lastIndex = 0
    return pattern.test(String(text))
  }
  const matches: JsonPath[] = []
  let isCut = false
  const look = function* () {
    for (const { path, value } of walk(root)) {
      const key = path.at(-1)
      if ((typeof key === 'string' && fits(key)) || (typeof value !== 'object' && fits(value))) matches.push([...path])
      isCut = matches.length === mostMatches
      if (isCut) return
      yield
    }
  }
  await inSlices(look(), isOver)
  return { matches, isCut }
}

/** Returns the range of a match in a row. */
function rangeIn({ element, text }: RowOnPage, { value }: JsonNode, pattern: RegExp): Range {
  pattern.lastIndex = 0
  const found = text && pattern.exec(String(value))
  if (text && found) return text.rangeOf(found.index, found.index + found[0].length)
  const range = new Range()
  range.selectNodeContents(element)
  return range
}

function isFoldable(node: JsonNode): boolean {
  return sizeOf(node) > 0 || (node.range === undefined && isLongText(node.value))
}

function isLongText(value: unknown): value is string {
  return typeof value === 'string' && (value.length > mostInline || value.includes('\n'))
}

/** Returns the short text that represents a value in its row. */
function shortOf(node: JsonNode): string {
  const { value } = node
  if (typeof value === 'string') {
    if (!isLongText(value)) return JSON.stringify(value)
    return `${previewOf(value)} ${count(value.length, 'character')}`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const size = sizeOf(node)
  const preview = previewOf(value)
  return size < 4 ? preview : `${Array.isArray(value) ? count(size, 'item') : count(size, 'field')} ${preview}`
}

/** Returns the text to copy. A text is copied unchanged, and any other value as JSON. */
function textOf({ value, range, keys: names }: JsonNode): string {
  const own = range === undefined ? value : Array.isArray(value) ? value.slice(...range) : pick(value, names?.slice(...range))
  return typeof own === 'string' ? own : (JSON.stringify(own, null, 2) ?? '')
}

function pick(value: unknown, names: string[] = []): Record<string, unknown> {
  const all = value as Record<string, unknown>
  return Object.fromEntries(names.map((name) => [name, all[name]]))
}
