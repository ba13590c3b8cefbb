import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { readable } from '../../core/text/visible.ts'

interface OpenableProps {
  name: string
  about: string
  marks: ComponentChildren
  /** Whether the user has navigated to this line. The line is then opened and gets the focus. */
  isWanted?: boolean
  children: ComponentChildren
}

/** A line with content that can be opened. The content is created when it is first opened, because there may be very many lines. */
export function Openable({ name, about, marks, isWanted = false, children }: OpenableProps) {
  const line = useRef<HTMLDetailsElement>(null)
  const [isOpen, setIsOpen] = useState(isWanted)
  const [wasOpen, setWasOpen] = useState(isWanted)
  const open = (opens: boolean) => {
    setIsOpen(opens)
    if (opens) setWasOpen(true)
  }
  useEffect(() => {
    if (!isWanted) return
    setIsOpen(true)
    setWasOpen(true)
    line.current?.scrollIntoView({ block: 'start' })
    line.current?.querySelector('summary')?.focus({ preventScroll: true })
  }, [isWanted])
  return (
    <details ref={line} class="tool" open={isOpen} onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary class="tool-summary">
        <code class="tool-name">{name}</code>
        <span class="tool-marks">{marks}</span>
        <span class="tool-about">{readable(about)}</span>
      </summary>
      {wasOpen && <div class="tool-body">{children}</div>}
    </details>
  )
}
