import { autocompletion, type CompletionContext, type CompletionResult, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { Compartment, RangeSet, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, GutterMarker, gutterLineClass, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Ref } from 'preact'
import { useEffect, useImperativeHandle, useLayoutEffect, useRef } from 'preact/hooks'
import { type ConfigSchema, suggestionsAt } from './config-completions.ts'
import { theme } from './editor-theme.ts'
import { YamlLines } from './yaml-lines.ts'

export interface YamlEditorHandle {
  focus(): void
  /** Selects a line, counted from 0, and scrolls it into view. */
  selectLine(line: number): void
}

interface YamlEditorProps {
  handle: Ref<YamlEditorHandle>
  id: string
  label: string
  text: string
  isInvalid: boolean
  /** The lines with problems, counted from 0. */
  bad: ReadonlySet<number>
  /** The lines that can't be changed in this editor, counted from 0. */
  locked: ReadonlySet<number>
  /** The schema for suggestions. Undefined until it is loaded. */
  schema: ConfigSchema | undefined
  onInput(text: string): void
}

/** An editor for YAML, with line numbers, colors, and suggestions from a schema. */
export function YamlEditor({ handle, id, label, text, isInvalid, bad, locked, schema, onInput }: YamlEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  const latest = useRef({ text, schema, onInput })
  latest.current = { text, schema, onInput }
  useLayoutEffect(() => {
    const host = place.current
    if (host === null) return
    // The editor creates style sheets. The page's content security policy forbids them in the document, but not in a shadow root.
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    const suggest = (context: CompletionContext) => suggestAt(context, latest.current.schema)
    const editor = new EditorView({
      root,
      parent: root,
      doc: latest.current.text,
      extensions: [
        ...[lineNumbers(), highlightSpecialChars(), history(), yaml(), indentUnit.of('  '), syntaxHighlighting(colors), theme],
        ...[marked, attributes.of([]), autocompletion({ override: [suggest], icons: false })],
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) latest.current.onInput(update.state.doc.toString())
        }),
      ],
    })
    view.current = editor
    // Gives the element a `value`, as a text field has. The DOM contains only a part of a long text.
    Object.defineProperty(host, 'value', { configurable: true, get: () => editor.state.doc.toString() })
    return () => {
      editor.destroy()
      view.current = undefined
    }
  }, [])
  useLayoutEffect(() => {
    const editor = view.current
    if (editor === undefined || editor.state.doc.toString() === text) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } })
  }, [text])
  useEffect(() => {
    view.current?.dispatch({ effects: setMarks.of({ bad, locked }) })
  }, [bad, locked])
  useEffect(() => {
    const own = EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', ...(isInvalid ? { 'aria-invalid': 'true' } : {}) })
    view.current?.dispatch({ effects: attributes.reconfigure(own) })
  }, [label, isInvalid])
  useImperativeHandle(handle, () => ({
    focus: () => view.current?.focus(),
    selectLine: (line) => {
      const editor = view.current
      if (editor === undefined) return
      const { from, to } = editor.state.doc.line(Math.min(line + 1, editor.state.doc.lines))
      editor.focus()
      editor.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
    },
  }))
  // Keeps the page's shortcuts from reacting to keys typed in the editor. To the page's listeners, these keys come from this element, not
  // from a text field.
  const onKeyDown = (event: KeyboardEvent) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the editor in it
    <div ref={place} id={id} class="yaml-editor" onKeyDown={onKeyDown} />
  )
}

function suggestAt({ state, pos, explicit }: CompletionContext, schema: ConfigSchema | undefined): CompletionResult | null {
  if (schema === undefined) return null
  const [before, after] = [state.sliceDoc(0, pos), state.sliceDoc(pos)]
  const { typed, list } = suggestionsAt(before, after, schema, new YamlLines(state.doc.toString()).keysOf('/models'))
  if (list.length === 0 || (typed === '' && !explicit)) return null
  return {
    from: pos - typed.length,
    validFor: /^[\w./-]*$/,
    options: list.map(({ label, apply, kind, detail, description }) => ({
      ...{ label, apply, detail, type: kind === 'key' ? 'property' : 'constant' },
      ...(description === '' ? {} : { info: description }),
    })),
  }
}

const colors = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: tags.comment, color: 'var(--muted)' },
  { tag: [tags.labelName, tags.typeName, tags.meta, tags.keyword], color: 'var(--wait)' },
])

const attributes = new Compartment()

interface Marks {
  bad: ReadonlySet<number>
  locked: ReadonlySet<number>
}

const setMarks = StateEffect.define<Marks>()

/** The marks of lines, both in the text and beside the line numbers. */
const marked = StateField.define<{ lines: RangeSet<Decoration>; numbers: RangeSet<GutterMarker> }>({
  create: () => ({ lines: Decoration.none, numbers: RangeSet.empty }),
  update: ({ lines, numbers }, transaction) => {
    const marks = transaction.effects.find((effect) => effect.is(setMarks))?.value
    if (marks === undefined) return { lines: lines.map(transaction.changes), numbers: numbers.map(transaction.changes) }
    const { doc } = transaction.state
    const classed = [...new Set([...marks.bad, ...marks.locked])]
      .filter((line) => line < doc.lines)
      .sort((a, b) => a - b)
      .map((line) => ({ from: doc.line(line + 1).from, name: marks.bad.has(line) ? 'bad' : 'locked' }))
    return {
      lines: Decoration.set(classed.map(({ from, name }) => Decoration.line({ class: name }).range(from))),
      numbers: RangeSet.of(classed.map(({ from, name }) => new NumberMark(name).range(from))),
    }
  },
  provide: (field) => [EditorView.decorations.from(field, ({ lines }) => lines), gutterLineClass.from(field, ({ numbers }) => numbers)],
})

class NumberMark extends GutterMarker {
  override readonly elementClass: string

  constructor(elementClass: string) {
    super()
    this.elementClass = elementClass
  }

  override eq(other: NumberMark): boolean {
    return other.elementClass === this.elementClass
  }
}
