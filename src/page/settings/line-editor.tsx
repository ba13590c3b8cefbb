import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'

interface LineEditorProps {
  editorRef: RefObject<HTMLTextAreaElement | null>
  id: string
  /** The id of the element that shows the errors. */
  describedBy: string
  text: string
  isDisabled: boolean
  isInvalid: boolean
  /** Lines with errors, from 0. */
  bad: ReadonlySet<number>
  /** Lines that are read-only here. */
  locked: ReadonlySet<number>
  onInput(text: string): void
}

/** A text field with line numbers. */
export function LineEditor({ editorRef, id, describedBy, text, isDisabled, isInvalid, bad, locked, onInput }: LineEditorProps) {
  const numbers = useRef<HTMLPreElement>(null)
  const lines = Array.from(text.split('\n'), (_, at) => at)
  return (
    <div class="editor">
      <pre ref={numbers} class="line-numbers" aria-hidden="true">
        {lines.map((at) => {
          const number = `${at + 1}\n`
          if (bad.has(at)) return <b key={at}>{number}</b>
          if (!locked.has(at)) return number
          return (
            <i key={at} title="Can only be changed in the file">
              {number}
            </i>
          )
        })}
      </pre>
      <textarea
        ref={editorRef}
        id={id}
        class="code"
        spellcheck={false}
        wrap="off"
        autocapitalize="off"
        rows={Math.min(Math.max(lines.length + 1, 12), 26)}
        aria-describedby={describedBy}
        aria-invalid={isInvalid ? 'true' : undefined}
        disabled={isDisabled}
        value={text}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onScroll={({ currentTarget }) => {
          if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop
        }}
      />
    </div>
  )
}

/** Selects a line and scrolls it into view. */
export function selectLine(editor: HTMLTextAreaElement | null, line: number): void {
  if (editor === null) return
  const lines = editor.value.split('\n')
  const start = lines.slice(0, line).join('\n').length + (line > 0 ? 1 : 0)
  editor.focus()
  editor.setSelectionRange(start, start + (lines[line]?.length ?? 0))
  editor.scrollTop = Math.max(0, (line / lines.length) * editor.scrollHeight - editor.clientHeight / 2)
}
